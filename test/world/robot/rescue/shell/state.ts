import type { Command, Dialect, List } from './ast.ts';
import type { PatternPiece } from './pattern.ts';

/** A variable: text, or in bash an array. */
export interface Variable {
  value: string | string[];
  exported: boolean;
  readOnly: boolean;
}

export interface Options {
  /** `-e` */
  errexit: boolean;
  /** `-u` */
  nounset: boolean;
  /** `-x` */
  xtrace: boolean;
  /** `-f` */
  noglob: boolean;
  pipefail: boolean;
}

/** What a shell knows. A subshell has a copy. */
export class State {
  readonly dialect: Dialect;
  /** `$0`. */
  readonly name: string;
  variables = new Map<string, Variable>();
  functions = new Map<string, Command>();
  positional: string[] = [];
  options: Options = { errexit: false, nounset: false, xtrace: false, noglob: false, pipefail: false };
  status = 0;
  pipeStatus: number[] = [0];
  /** `$$`, in subshells, too. */
  readonly pid: number;
  /** `$!`. */
  lastJob: number | undefined;
  line = 1;
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
    for (const [name, variable] of this.variables) {
      copy.variables.set(name, {
        ...variable,
        value: Array.isArray(variable.value) ? [...variable.value] : variable.value,
      });
    }
    copy.functions = new Map(this.functions);
    copy.positional = [...this.positional];
    copy.options = { ...this.options };
    copy.status = this.status;
    copy.pipeStatus = [...this.pipeStatus];
    copy.lastJob = this.lastJob;
    copy.line = this.line;
    return copy;
  }

  get isBash(): boolean {
    return this.dialect === 'bash';
  }

  /** Text of a variable; of an array its first element. */
  get(name: string): string | undefined {
    const value = this.variables.get(name)?.value;
    return Array.isArray(value) ? value[0] : value;
  }

  set(name: string, value: string | string[]): void {
    const variable = this.variables.get(name);
    if (variable?.readOnly) {
      throw new ShellError(this.isBash ? `${name}: readonly variable` : `${name}: is read only`, {
        status: this.isBash ? 1 : 2,
        ends: true,
      });
    }
    if (!variable) this.variables.set(name, { value, exported: false, readOnly: false });
    else if (Array.isArray(variable.value) && !Array.isArray(value)) variable.value[0] = value;
    else variable.value = value;
  }

  exported(): Map<string, string> {
    const found = new Map<string, string>();
    for (const [name, { value, exported }] of this.variables)
      if (exported && !Array.isArray(value)) found.set(name, value);
    return found;
  }

  /** Error messages begin with this. */
  get prefix(): string {
    return this.isBash ? `${this.name}: line ${this.line}: ` : `${this.name}: ${this.line}: `;
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

/** What expansions ask of whoever runs commands. */
export interface Runner {
  readonly state: State;
  /** What commands write, without the newlines at the end. */
  capture(body: List): Promise<string>;
  /** Starts commands at the other end of a pipe, and says how it is opened. */
  openProcess(direction: '<' | '>', body: List): string;
  /** Existing paths that a pattern matches, in order. */
  glob(pieces: readonly PatternPiece[]): string[];
}
