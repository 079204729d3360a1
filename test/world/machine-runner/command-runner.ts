import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { Log } from '../../../src/lib/log.ts';
import type { MachineDescription, MachineRunner, RunningMachine } from './machine.ts';
import { toMachineDocument } from './machine-document.ts';

/** The number of a command's last output lines that are kept for its error. */
const retainedLines = 20;

/**
 * Machines that are processes of a command (a program and optional arguments), which gets a {@link toMachineDocument
 * document} on standard input. The process is the machine: SIGTERM is the ACPI button, SIGKILL the power switch, its
 * end is power-off.
 */
export function commandRunner(command: string, log?: Log): MachineRunner {
  return { start: (machine) => new CommandMachine(command, machine, log) };
}

class CommandMachine implements RunningMachine {
  readonly pid: number | undefined;
  readonly exited: Promise<void>;
  readonly #child: ChildProcess;
  readonly #lines: string[] = [];
  #switchedOff = false;
  #stuck: string | undefined;

  constructor(command: string, machine: MachineDescription, log: Log | undefined) {
    // A separate process group: the terminal's Ctrl-C does not reach the machine, and the power switch also ends its
    // helpers.
    this.#child = spawn('/bin/sh', ['-c', `exec ${command}`], { detached: true, stdio: 'pipe' });
    this.pid = this.#child.pid;
    const keep = (line: string): void => {
      this.#lines.push(line);
      this.#lines.splice(0, this.#lines.length - retainedLines);
      log?.info({ machine: machine.name }, line);
    };
    for (const output of [this.#child.stdout, this.#child.stderr]) {
      if (output) createInterface({ input: output }).on('line', keep);
    }
    // A command that ends before it has read its input closes the pipe; its exit status says more.
    this.#child.stdin?.on('error', () => undefined);
    this.#child.stdin?.end(`${JSON.stringify(toMachineDocument(machine))}\n`);
    const end = (): void => this.kill();
    process.once('exit', end);
    this.exited = new Promise((resolve) => {
      this.#child.once('error', (error) => {
        this.#stuck = error.message;
        resolve();
      });
      this.#child.once('close', (code, signal) => {
        this.#judge(command, code, signal);
        resolve();
      });
      // Helpers that outlive the command would keep its pipes, and the machine's disks, open.
      this.#child.once('exit', () => this.#killGroup());
    });
    void this.exited.then(() => {
      process.removeListener('exit', end);
      if (this.#stuck !== undefined) log?.error({ machine: machine.name }, this.#stuck);
    });
  }

  get stuck(): string | undefined {
    return this.#stuck;
  }

  pressPowerButton(): void {
    this.#child.kill('SIGTERM');
  }

  kill(): void {
    this.#switchedOff = true;
    this.#killGroup();
  }

  #killGroup(): void {
    if (this.pid === undefined) return;
    try {
      process.kill(-this.pid, 'SIGKILL');
    } catch (error) {
      // The group is empty.
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
    }
  }

  /**
   * Any end except a clean exit, the button's signal or the power switch means that the command could not run the
   * machine.
   */
  #judge(command: string, code: number | null, signal: NodeJS.Signals | null): void {
    if (code === 0 || this.#switchedOff || signal === 'SIGTERM') return;
    const how = signal === null ? `with ${code}` : `by ${signal}`;
    this.#stuck = [`${command} ended ${how}`, ...this.#lines].join('\n');
  }
}
