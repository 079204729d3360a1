import type {
  AndOr,
  Assignment,
  Command,
  CommandNode,
  CompoundList,
  Pipeline,
  PipelineNode,
  Redirection,
  Statement,
} from 'unbash';
import { Errno, Killed } from '../io/errno.ts';
import { Pipe } from '../io/pipe.ts';
import { RescueProcess } from '../process.ts';
import { type Builtin, builtins } from './builtins.ts';
import { runCompound } from './compound.ts';
import { expandCommand, expandValue } from './expand.ts';
import { expandPaths } from './glob.ts';
import { Jobs } from './jobs.ts';
import { Exit, LoopJump, Return } from './jumps.ts';
import { parseShellScript } from './parse.ts';
import type { PatternPiece } from './pattern.ts';
import { redirect, withRedirections } from './redirect.ts';
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
    const { commands, fault } = parseShellScript(source);
    this.state.source = source;
    await this.runList(commands);
    if (!fault) return;
    await this.process.error(`${this.state.name}: ${fault.line}: ${fault.message}\n`);
    throw new Exit(2);
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

  async runList(list: readonly Statement[]): Promise<number> {
    for (const item of list) {
      if (item.background) this.#startJob(item);
      else await this.#runNode(item.command);
    }
    return this.state.status;
  }

  /** What commands write, without the newlines at the end. Its status becomes that of an assignment. */
  async capture(body: readonly Statement[]): Promise<string> {
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
  async runSubshell(body: readonly Statement[]): Promise<number> {
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

  #startJob(item: Statement): void {
    const child = this.#fork();
    child.process.descriptors.set(0, this.process.system.nothing());
    const running = child.#runToEnd(() => child.#runJob(item));
    this.state.lastJob = this.jobs.add(child.process, running);
    this.state.status = 0;
  }

  /** A single command's redirections are those of the whole copy: nothing of the shell that started it is held open by it. */
  async #runJob({ command }: Statement): Promise<void> {
    if (command.type !== 'Command' && command.type !== 'Redirected') return await this.#runNode(command);
    try {
      for (const redirection of command.redirects) await redirect(this, redirection, this.process);
    } catch (error) {
      if (!(error instanceof ShellError)) throw error;
      await this.process.error(`${this.state.prefix}${error.message}\n`);
      throw new Exit(error.status);
    }
    await this.runCommand(command, []);
  }

  async #runNode(node: PipelineNode | AndOr): Promise<void> {
    if (node.type === 'Pipeline') return await this.#runPipeline(node);
    if (node.type !== 'AndOr') return await this.runCommand(node);
    for (const [index, pipeline] of node.commands.entries()) {
      const operator = node.operators[index - 1];
      if (operator === undefined || (operator === '&&') === (this.state.status === 0)) await this.#runNode(pipeline);
    }
  }

  async #runPipeline({ commands, prefixes }: Pipeline): Promise<void> {
    const [only] = commands;
    if (commands.length > 1 || !only) await this.#runMembers(commands);
    else await this.runCommand(only);
    if (prefixes.length % 2 === 1) this.state.status = this.state.status === 0 ? 1 : 0;
  }

  /** All members at once, each in a shell of its own, with pipes between them. */
  async #runMembers(commands: readonly CommandNode[]): Promise<void> {
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
  async runCommand(command: CommandNode | CompoundList, redirects?: readonly Redirection[]): Promise<void> {
    try {
      await this.#run(command, redirects);
    } catch (error) {
      if (!(error instanceof ShellError)) throw error;
      await this.process.error(`${this.state.prefix}${error.message}\n`);
      if (error.ends) throw new Exit(error.status);
      this.state.status = error.status;
    }
  }

  /** `given`: the redirections that remain to be carried out. */
  async #run(command: CommandNode | CompoundList, given?: readonly Redirection[]): Promise<void> {
    if (command.type === 'Command') {
      this.state.position = command.pos;
      await this.#runSimple(command, given ?? command.redirects);
    } else if (command.type === 'Function') {
      this.state.functions.set(command.name.value, command.body);
      this.state.status = 0;
    } else if (command.type === 'Redirected') {
      await withRedirections(this, given ?? command.redirects, () => runCompound(this, command.command));
    } else if (command.type !== 'Coproc') await runCompound(this, command);
  }

  async #runSimple(command: Command, redirects: readonly Redirection[]): Promise<void> {
    this.#captured = false;
    const assignments = command.prefix.filter((one) => one.type === 'Assignment');
    const args = await expandCommand(this, command);
    const [name] = args;
    if (name === undefined) {
      await withRedirections(this, redirects, async () => {
        for (const one of assignments) this.state.set(one.name, await expandValue(this, one));
      });
      if (!this.#captured) this.state.status = 0;
      return;
    }
    const body = this.state.functions.get(name);
    const builtin = builtins.get(name);
    if (!body && !builtin) return await this.#runProgram(args, assignments, redirects);
    if (assignments.length > 0)
      throw new ShellError('an assignment before a builtin is not simulated', { status: 2, ends: true });
    // `exec` without a program keeps what it redirects.
    if (name === 'exec' && args.length === 1) {
      for (const redirection of redirects) await redirect(this, redirection, this.process);
      this.state.status = 0;
      return;
    }
    await withRedirections(this, redirects, async () => {
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

  async #callFunction(body: CommandNode | CompoundList, args: string[]): Promise<void> {
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

  async #runProgram(
    args: readonly string[],
    assignments: readonly Assignment[],
    redirects: readonly Redirection[],
  ): Promise<void> {
    const { system, cwd, signal } = this.process;
    const environment = await this.#environmentFor(assignments);
    const descriptors = this.process.descriptors.copy();
    const child = new RescueProcess({ system, args, environment, descriptors, cwd, signal });
    try {
      for (const redirection of redirects) await redirect(this, redirection, child);
      this.state.status = await system.run(child, this.state);
    } finally {
      descriptors.closeAll();
    }
  }

  /** Exported variables, and those that stand before the command. */
  async #environmentFor(assignments: readonly Assignment[]): Promise<Map<string, string>> {
    const environment = this.state.exported();
    for (const one of assignments) environment.set(one.name, await expandValue(this, one));
    return environment;
  }
}
