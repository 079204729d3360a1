import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

/** A part of the world in a process of its own, so that what the provider needs is told apart from what its world does. */
export class SimulatorProcess<Ready, Told> {
  readonly #process: ChildProcess;
  readonly ready: Promise<Ready>;

  /** The program at `file` ends in {@link runSimulatorProcess}. */
  constructor(file: URL, input: unknown) {
    this.#process = spawn(process.execPath, ['--import', 'tsx', fileURLToPath(file), JSON.stringify(input)], {
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    });
    this.ready = this.#answer<Ready>();
    // Whoever asks next learns of it.
    this.ready.catch(() => {});
  }

  /** What it has counted since it was asked the last time. */
  async ask(): Promise<Told> {
    const answer = this.#answer<Told>();
    this.#process.send('tell');
    return await answer;
  }

  async close(): Promise<void> {
    if (this.#process.exitCode !== null || this.#process.signalCode !== null) return;
    const exited = once(this.#process, 'exit');
    this.#process.kill('SIGKILL');
    await exited;
  }

  #answer<T>(): Promise<T> {
    return new Promise((resolve, reject) => {
      const child = this.#process;
      const ended = (code: number | null): void => reject(new Error(`a part of the world has ended with ${code}`));
      child.once('exit', ended);
      child.once('error', reject);
      child.once('message', (message) => {
        child.off('exit', ended);
        child.off('error', reject);
        resolve(message as T);
      });
    });
  }
}

/** The other side: says what it is ready with, and then what it tells whenever it is asked. Ends with the bench. */
export async function runSimulatorProcess<Input>(
  start: (input: Input) => Promise<{ ready: unknown; tell(): unknown }>,
): Promise<void> {
  process.on('disconnect', () => process.exit(0));
  const { ready, tell } = await start(JSON.parse(process.argv[2] ?? '') as Input);
  process.on('message', () => process.send?.(tell()));
  process.send?.(ready);
}

/** Counts by name until somebody asks. */
export class CallCounter {
  #counts: Record<string, number> = {};

  add(name: string): void {
    this.#counts[name] = (this.#counts[name] ?? 0) + 1;
  }

  take(): Record<string, number> {
    const counts = this.#counts;
    this.#counts = {};
    return counts;
  }
}
