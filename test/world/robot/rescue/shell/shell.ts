import { Errno, Killed } from '../io/errno.ts';
import { Pipe } from '../io/pipe.ts';
import { RescueProcess } from '../process.ts';
import type { AndOr, Assignment, Command, List, Pipeline, SimpleCommand } from './ast.ts';
import { type Builtin, builtins } from './builtins.ts';
import { runCompound } from './compound.ts';
import { expandCommand, expandText } from './expand.ts';
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

  constructor(process: RescueProcess, state: State, jobs = new Jobs()) {
    this.process = process;
    this.state = state;
    this.jobs = jobs;
  }

  /** Runs a whole script to its exit status. */
  async runScript(source: string): Promise<number> {
    try {
      await this.#evaluate(source);
    } catch (error) {
      if (!(error instanceof Exit || error instanceof Return)) throw error;
      this.state.status = error.status;
    }
    return await this.#trapExit();
  }

  /** Runs a script within this shell. A syntax error ends the shell, after the commands before it. */
  async #evaluate(source: string): Promise<void> {
    const parser = new Parser(source, this.state.dialect);
    try {
      for (let list = parser.nextLine(); list; list = parser.nextLine()) await this.runList(list);
    } catch (error) {
      if (!(error instanceof ShellSyntaxError)) throw error;
      await this.process.error(`${this.state.name}: ${error.line}: ${error.message}\n`);
      throw new Exit(2);
    }
  }

  /** Prints an error of a builtin. Returns `status`. */
  async fail(name: string, message: string, status = 1): Promise<number> {
    await this.process.error(`${this.state.prefix}${name}: ${message}\n`);
    return status;
  }

  /** Ends the shell at a form of a builtin that is not simulated: a script that goes on would prove nothing. */
  async refuse(name: string, simulated: string): Promise<never> {
    throw new Exit(await this.fail(name, `${simulated} is simulated`, 2));
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

  /** Runs commands in a copy of this shell, to their status. */
  async runSubshell(body: List): Promise<number> {
    const child = this.#fork();
    return await child.#runToEnd(() => child.runList(body));
  }

  glob(pieces: readonly PatternPiece[]): string[] {
    return expandPaths(this.process.system.files, this.process.cwd, pieces);
  }

  async #trapExit(): Promise<number> {
    const { exitTrap, status } = this.state;
    if (exitTrap === undefined) return status;
    this.state.exitTrap = undefined;
    try {
      await this.#evaluate(exitTrap);
    } catch (error) {
      if (error instanceof Exit) return error.status;
      throw error;
    }
    return status;
  }

  /** A copy of this shell with a process of its own. */
  #fork(): Shell {
    const { system, environment, descriptors, cwd, signal, args } = this.process;
    const process = new RescueProcess({ system, args, environment, descriptors: descriptors.copy(), cwd, signal });
    return new Shell(process, this.state.copy());
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
    this.state.lastJob = this.jobs.add(child.process, running);
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
    await this.#runPipeline(first);
    for (const { operator, pipeline } of rest) {
      if ((operator === '&&') === (this.state.status === 0)) await this.#runPipeline(pipeline);
    }
  }

  async #runPipeline({ commands, negated }: Pipeline): Promise<void> {
    const [only] = commands;
    if (commands.length > 1 || !only) await this.#runMembers(commands);
    else await this.runCommand(only);
    if (negated) this.state.status = this.state.status === 0 ? 1 : 0;
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
    this.state.status = statuses.at(-1) ?? 0;
  }

  /** Runs one command in this shell. Mistakes are told and become a status, unless they end the shell. */
  async runCommand(command: Command): Promise<void> {
    try {
      await this.#run(command);
    } catch (error) {
      if (!(error instanceof ShellError)) throw error;
      await this.process.error(`${this.state.prefix}${error.message}\n`);
      if (error.ends) throw new Exit(error.status);
      this.state.status = error.status;
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

  async #runSimple(command: SimpleCommand): Promise<void> {
    this.#captured = false;
    const args = await expandCommand(this, command.words);
    const [name] = args;
    if (name === undefined) {
      await withRedirections(this, command.redirections, async () => {
        for (const one of command.assignments) this.state.set(one.name, await expandText(this, one.value));
      });
      if (!this.#captured) this.state.status = 0;
      return;
    }
    const body = this.state.functions.get(name);
    const builtin = builtins.get(name);
    if (!body && !builtin) return await this.#runProgram(command, args);
    if (command.assignments.length > 0)
      throw new ShellError('an assignment before a builtin is not simulated', { status: 2, ends: true });
    // `exec` without a program keeps what it redirects.
    if (name === 'exec' && args.length === 1) {
      for (const redirection of command.redirections) await redirect(this, redirection, this.process);
      this.state.status = 0;
      return;
    }
    await withRedirections(this, command.redirections, async () => {
      if (body) await this.#callFunction(body, args.slice(1));
      else if (builtin) this.state.status = await this.#callBuiltin(builtin, args);
    });
  }

  /** An error of a builtin's reads and writes is told with its name. */
  async #callBuiltin(builtin: Builtin, args: readonly string[]): Promise<number> {
    try {
      return await builtin(this, args);
    } catch (error) {
      if (!(error instanceof Errno)) throw error;
      return await this.fail(args[0] ?? '', error.message);
    }
  }

  async #callFunction(body: Command, args: string[]): Promise<void> {
    const { positional, locals } = this.state;
    this.state.positional = args;
    locals.push(new Map());
    try {
      await this.runCommand(body);
    } catch (error) {
      if (!(error instanceof Return)) throw error;
      this.state.status = error.status;
    } finally {
      for (const [name, hidden] of locals.pop() ?? []) {
        if (hidden) this.state.variables.set(name, hidden);
        else this.state.variables.delete(name);
      }
      this.state.positional = positional;
    }
  }

  async #runProgram({ assignments, redirections }: SimpleCommand, args: readonly string[]): Promise<void> {
    const { system, cwd, signal } = this.process;
    const environment = await this.#environmentFor(assignments);
    const descriptors = this.process.descriptors.copy();
    const child = new RescueProcess({ system, args, environment, descriptors, cwd, signal });
    try {
      for (const redirection of redirections) await redirect(this, redirection, child);
      this.state.status = await system.run(child, this.state);
    } finally {
      descriptors.closeAll();
    }
  }

  /** Exported variables, and those that stand before the command. */
  async #environmentFor(assignments: readonly Assignment[]): Promise<Map<string, string>> {
    const environment = this.state.exported();
    for (const { name, value } of assignments) environment.set(name, await expandText(this, value));
    return environment;
  }
}
