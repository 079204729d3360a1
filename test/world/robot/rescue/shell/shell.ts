import { Errno, Killed } from '../io/errno.ts';
import { Pipe } from '../io/pipe.ts';
import { RescueProcess } from '../process.ts';
import { assign, assignFor } from './assignments.ts';
import type { AndOr, Command, List, Pipeline } from './ast.ts';
import { findBuiltin, specialBuiltins } from './builtins.ts';
import { runCompound } from './compound.ts';
import { expandCommand } from './expand.ts';
import { expandPaths } from './glob.ts';
import { Jobs } from './jobs.ts';
import { Exit, LoopJump, Return } from './jumps.ts';
import { Parser } from './parser.ts';
import type { PatternPiece } from './pattern.ts';
import { redirect, withRedirections } from './redirect.ts';
import { ShellSyntaxError } from './scanner.ts';
import { type Runner, ShellError, type State } from './state.ts';

/** A shell: runs scripts over the programs of its system. What it starts gets copies of its open files. */
export class Shell implements Runner {
  readonly process: RescueProcess;
  readonly state: State;
  readonly jobs: Jobs;
  functionDepth = 0;
  /** Greater than zero: a file is being read with `.`. */
  sourceDepth = 0;
  /** Greater than zero: a failure here is somebody's question, and `set -e` does not end the shell. */
  #asked = 0;
  /** Open ends of process substitutions of the command that runs. */
  #substitutions: number[] = [];

  constructor(process: RescueProcess, state: State, jobs = new Jobs()) {
    this.process = process;
    this.state = state;
    this.jobs = jobs;
  }

  /** Runs a whole script to its exit status. */
  async runScript(source: string): Promise<number> {
    try {
      this.state.status = await this.evaluate(source);
    } catch (error) {
      if (!(error instanceof Exit || error instanceof Return)) throw error;
      this.state.status = error.status;
    }
    return await this.#trapExit();
  }

  /** Runs a script within this shell, as `eval` and `.` do. Mistakes in it end the shell. */
  async evaluate(source: string, label = ''): Promise<number> {
    const parser = new Parser(source, this.state.dialect);
    try {
      for (;;) {
        const list = parser.nextLine();
        if (!list) return this.state.status;
        await this.runList(list);
      }
    } catch (error) {
      if (!(error instanceof ShellSyntaxError)) throw error;
      const { name, isBash } = this.state;
      const where = isBash ? `${name}: ${label || '-c'}: line ${error.line}: ` : `${name}: ${error.line}: `;
      await this.process.error(`${where}${error.message}\n`);
      if (isBash && error.message.startsWith('syntax error near')) {
        const line = source.split('\n')[error.line - 1] ?? '';
        await this.process.error(`${name}: ${label || '-c'}: line ${error.line}: \`${line}'\n`);
      }
      throw new Exit(2);
    }
  }

  async runList(list: List): Promise<number> {
    for (const item of list) {
      if (item.background) this.#startJob(item);
      else await this.#runAndOr(item);
    }
    return this.state.status;
  }

  /** What commands write, without the newlines at the end. Its status becomes that of an assignment. */
  async capture(body: List): Promise<string> {
    const { reader, writer } = Pipe.make();
    const child = this.#fork();
    child.process.descriptors.set(1, writer);
    if (this.state.isBash) child.state.options.errexit = false;
    const running = child.#runToEnd(() => child.runList(body));
    // When the power goes, nobody is there any more to see how it ended.
    running.catch(() => undefined);
    const found: Buffer[] = [];
    try {
      for (;;) {
        const bytes = await reader.file.read(1 << 20, this.process.signal);
        if (bytes.length === 0) break;
        found.push(bytes);
      }
    } finally {
      reader.close();
    }
    this.state.status = await running;
    this.#captured = true;
    return Buffer.concat(found).toString('latin1').replaceAll('\0', '').replace(/\n+$/, '');
  }
  #captured = false;

  openProcess(direction: '<' | '>', body: List): string {
    const { reader, writer } = Pipe.make();
    const child = this.#fork();
    child.process.descriptors.set(direction === '>' ? 0 : 1, direction === '>' ? reader : writer);
    let number = 63;
    while (this.process.descriptors.get(number)) number -= 1;
    this.process.descriptors.set(number, direction === '>' ? writer : reader);
    this.#substitutions.push(number);
    this.state.lastJob = this.jobs.add(
      child.process.id,
      child.#runToEnd(() => child.runList(body)),
    );
    return `/dev/fd/${number}`;
  }

  /** Runs commands in a copy of this shell, to their status. */
  async runSubshell(body: List): Promise<number> {
    const child = this.#fork();
    return await child.#runToEnd(() => child.runList(body));
  }

  glob(pieces: readonly PatternPiece[]): string[] {
    return expandPaths(this.process.system.files, this.process.cwd, pieces);
  }

  /** Runs something whose failure is a question. */
  async asking<T>(work: () => Promise<T>): Promise<T> {
    this.#asked += 1;
    try {
      return await work();
    } finally {
      this.#asked -= 1;
    }
  }

  async #trapExit(): Promise<number> {
    const { exitTrap, status } = this.state;
    if (exitTrap === undefined) return status;
    this.state.exitTrap = undefined;
    try {
      await this.evaluate(exitTrap);
    } catch (error) {
      if (error instanceof Exit) return error.status;
      throw error;
    }
    return status;
  }

  /** A copy of this shell with a process of its own. */
  #fork(): Shell {
    const { system, environment, descriptors, cwd, signal, args } = this.process;
    const copy = descriptors.copy();
    const process = new RescueProcess({ system, args, environment, descriptors: copy, cwd, signal });
    const child = new Shell(process, this.state.copy());
    for (const number of this.#substitutions) copy.delete(number);
    child.functionDepth = this.functionDepth;
    child.#asked = this.#asked;
    return child;
  }

  /** The life of a forked shell: to its status, with everything closed behind it. */
  async #runToEnd(work: () => Promise<unknown>): Promise<number> {
    try {
      await work();
      return await this.#trapExit();
    } catch (error) {
      return await this.#toStatus(error);
    } finally {
      this.process.descriptors.closeAll();
    }
  }

  async #toStatus(error: unknown): Promise<number> {
    if (error instanceof Exit) {
      this.state.status = error.status;
      return await this.#trapExit();
    }
    if (error instanceof Return) return error.status;
    if (error instanceof LoopJump) return 0;
    if (error instanceof Killed) return 128 + error.signal;
    this.process.system.signal.throwIfAborted();
    throw error;
  }

  #startJob(item: AndOr): void {
    const child = this.#fork();
    child.process.descriptors.set(0, this.process.system.nothing());
    const running = child.#runToEnd(() => child.#runJob(item));
    this.state.lastJob = this.jobs.add(child.process.id, running, child.process);
    this.state.status = 0;
  }

  /** A single command's redirections are those of the whole copy: nothing of the shell that started it is held open by it. */
  async #runJob(item: AndOr): Promise<void> {
    const [only, ...more] = item.first.commands;
    if (!only || more.length > 0 || item.rest.length > 0 || item.first.negated || only.kind === 'function') {
      await this.#runAndOr({ ...item, background: false });
      return;
    }
    try {
      for (const redirection of only.redirections) await redirect(this, redirection, this.process);
    } catch (error) {
      if (!(error instanceof ShellError)) throw error;
      await this.process.error(`${this.state.prefix}${error.message}\n`);
      throw new Exit(error.status);
    }
    const bare: AndOr = {
      ...item,
      background: false,
      first: { ...item.first, commands: [{ ...only, redirections: [] }] },
    };
    await this.#runAndOr(bare);
  }

  async #runAndOr({ first, rest }: AndOr): Promise<void> {
    const last = rest.length;
    await this.#runPipeline(first, last > 0);
    for (const [index, { operator, pipeline }] of rest.entries()) {
      if ((operator === '&&') !== (this.state.status === 0)) continue;
      await this.#runPipeline(pipeline, index + 1 < last);
    }
  }

  async #runPipeline(pipeline: Pipeline, isAsked: boolean): Promise<void> {
    const { commands, negated } = pipeline;
    const run = async (): Promise<void> => {
      const [only] = commands;
      if (commands.length > 1 || !only) await this.#runMembers(commands);
      else {
        await this.runCommand(only);
        this.state.pipeStatus = [this.state.status];
      }
    };
    if (isAsked || negated) await this.asking(run);
    else await run();
    if (negated) {
      this.state.status = this.state.status === 0 ? 1 : 0;
      return;
    }
    const [only] = commands;
    const counts = commands.length > 1 || (only && ['simple', 'subshell', 'test', 'arithmetic'].includes(only.kind));
    const { options, status } = this.state;
    if (counts && status !== 0 && options.errexit && this.#asked === 0 && !isAsked) throw new Exit(status);
  }

  /** All members at once, each in a shell of its own, with pipes between them. */
  async #runMembers(commands: readonly Command[]): Promise<void> {
    let input = this.process.descriptors.get(0)?.duplicate();
    const running = commands.map((command, index) => {
      const child = this.#fork();
      if (input) child.process.descriptors.set(0, input);
      input = undefined;
      if (index < commands.length - 1) {
        const { reader, writer } = Pipe.make();
        child.process.descriptors.set(1, writer);
        input = reader;
      }
      return child.#runToEnd(() => child.runCommand(command));
    });
    const statuses = await Promise.all(running);
    this.state.pipeStatus = statuses;
    const failed = statuses.findLast((status) => status !== 0);
    this.state.status = this.state.options.pipefail ? (failed ?? 0) : (statuses.at(-1) ?? 0);
  }

  /** Runs one command in this shell. Mistakes are told and become a status, unless they end the shell. */
  async runCommand(command: Command): Promise<void> {
    const open = this.#substitutions;
    this.#substitutions = [];
    try {
      await this.#run(command);
    } catch (error) {
      if (!(error instanceof ShellError)) throw error;
      await this.process.error(`${this.state.prefix}${error.message}\n`);
      if (error.ends) throw new Exit(error.status);
      this.state.status = error.status;
    } finally {
      for (const number of this.#substitutions) this.process.descriptors.delete(number);
      this.#substitutions = open;
    }
  }

  async #run(command: Command): Promise<void> {
    if (command.kind === 'simple') {
      this.state.line = command.line;
      await this.#runSimple(command);
    } else if (command.kind === 'function') {
      this.state.functions.set(command.name, command.body);
      this.state.status = 0;
    } else if (command.redirections.length > 0) {
      await withRedirections(this, command.redirections, () => runCompound(this, command));
    } else await runCompound(this, command);
  }

  async #runSimple(command: Extract<Command, { kind: 'simple' }>): Promise<void> {
    this.#captured = false;
    const args = await expandCommand(this, command.words);
    const [name] = args;
    if (name === undefined) {
      await withRedirections(this, command.redirections, async () => {
        for (const assignment of command.assignments) await assign(this, assignment);
      });
      if (!this.#captured) this.state.status = 0;
      return;
    }
    await this.#trace(args);
    const body = this.state.functions.get(name);
    const builtin = body ? undefined : findBuiltin(name, this.state.dialect);
    if (!body && !builtin) return await this.#runProgram(command, args);
    const keeps = builtin !== undefined && specialBuiltins.has(name) && !this.state.isBash;
    const restore = await assignFor(this, command.assignments, keeps);
    try {
      // `exec` without a program keeps what it redirects.
      if (name === 'exec' && args.length === 1) {
        for (const redirection of command.redirections) await redirect(this, redirection, this.process);
        this.state.status = 0;
      } else {
        await withRedirections(this, command.redirections, async () => {
          if (body) await this.#callFunction(body, args.slice(1));
          else if (builtin) this.state.status = await this.#callBuiltin(name, () => builtin(this, args));
        });
      }
    } finally {
      restore();
    }
  }

  /** A builtin's trouble with what it reads and writes is told with its name. */
  async #callBuiltin(name: string, run: () => Promise<number> | number): Promise<number> {
    try {
      return await run();
    } catch (error) {
      if (!(error instanceof Errno)) throw error;
      await this.process.error(`${this.state.prefix}${name}: ${error.message}\n`);
      return 1;
    }
  }

  async #callFunction(body: Command, args: string[]): Promise<void> {
    const { positional, locals } = this.state;
    this.state.positional = args;
    this.functionDepth += 1;
    locals.push(new Map());
    try {
      await this.runCommand(body);
    } catch (error) {
      if (!(error instanceof Return)) throw error;
      this.state.status = error.status;
    } finally {
      this.functionDepth -= 1;
      for (const [name, hidden] of locals.pop() ?? []) {
        if (hidden) this.state.variables.set(name, hidden);
        else this.state.variables.delete(name);
      }
      this.state.positional = positional;
    }
  }

  async #runProgram(command: Extract<Command, { kind: 'simple' }>, args: readonly string[]): Promise<void> {
    const restore = await assignFor(this, command.assignments, false, true);
    const { system, cwd, signal } = this.process;
    const environment = this.state.exported();
    restore();
    const descriptors = this.process.descriptors.copy();
    const child = new RescueProcess({ system, args, environment, descriptors, cwd, signal });
    try {
      for (const redirection of command.redirections) await redirect(this, redirection, child);
      this.state.status = await system.run(child, this.state);
    } finally {
      descriptors.closeAll();
    }
  }

  async #trace(args: readonly string[]): Promise<void> {
    if (!this.state.options.xtrace) return;
    const shown = args.map((arg) => (/^[\w%+,./:=@^-]+$/.test(arg) ? arg : `'${arg.replaceAll("'", "'\\''")}'`));
    await this.process.error(`+ ${shown.join(' ')}\n`);
  }
}
