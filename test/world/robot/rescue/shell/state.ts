import type { CommandNode, CompoundList, Statement } from 'unbash';
import { lineAt } from './parse.ts';
import type { PatternPiece } from './pattern.ts';

export type Dialect = 'dash' | 'bash';

export interface Variable {
  value: string;
  exported: boolean;
}

/** What a shell knows. A subshell has a copy. */
export class State {
  readonly dialect: Dialect;
  /** `$0`. */
  readonly name: string;
  variables = new Map<string, Variable>();
  functions = new Map<string, CommandNode | CompoundList>();
  positional: string[] = [];
  /** `set -u`. */
  endsWhenUnset = false;
  status = 0;
  /** `$$`, in subshells, too. */
  readonly pid: number;
  /** `$!`. */
  lastJob: number | undefined;
  /** The script, and the position of the command that runs. */
  source = '';
  position = 0;
  /** What `trap … EXIT` asked for. */
  exitTrap: string | undefined;
  /** Variables that a function hides, innermost last. */
  readonly locals: Map<string, Variable | undefined>[] = [];

  constructor(dialect: Dialect, name: string, pid: number) {
    this.dialect = dialect;
    this.name = name;
    this.pid = pid;
  }

  copy(): State {
    const copy = new State(this.dialect, this.name, this.pid);
    for (const [name, variable] of this.variables) copy.variables.set(name, { ...variable });
    copy.functions = new Map(this.functions);
    copy.positional = [...this.positional];
    copy.endsWhenUnset = this.endsWhenUnset;
    copy.status = this.status;
    copy.lastJob = this.lastJob;
    copy.source = this.source;
    copy.position = this.position;
    return copy;
  }

  get isBash(): boolean {
    return this.dialect === 'bash';
  }

  get(name: string): string | undefined {
    return this.variables.get(name)?.value;
  }

  set(name: string, value: string): void {
    if (name === 'IFS') throw new ShellError('another IFS is not simulated', { status: 2, ends: true });
    const variable = this.variables.get(name);
    if (variable) variable.value = value;
    else this.variables.set(name, { value, exported: false });
  }

  exported(): Map<string, string> {
    return new Map(
      [...this.variables].flatMap(([name, { value, exported }]) => (exported ? [[name, value] as const] : [])),
    );
  }

  /** Error messages begin with this. */
  get prefix(): string {
    const line = lineAt(this.source, this.position);
    return this.isBash ? `${this.name}: line ${line}: ` : `${this.name}: ${line}: `;
  }
}

/** A mistake that is found while a command is prepared. `ends`: the whole shell ends with it. */
export class ShellError extends Error {
  readonly status: number;
  readonly ends: boolean;

  constructor(message: string, { status = 1, ends = false } = {}) {
    super(message);
    this.status = status;
    this.ends = ends;
  }
}

/** What expansions ask of the shell that runs commands. */
export interface Runner {
  readonly state: State;
  /** What commands write, without the newlines at the end. */
  capture(body: readonly Statement[]): Promise<string>;
  /** Existing paths that a pattern matches, in order. */
  glob(pieces: readonly PatternPiece[]): string[];
}
