import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

/**
 * A simulator in a separate process, so that the resources of the provider are measured without those of the
 * simulators.
 */
export class SimulatorProcess<Ready, Told> {
  readonly #process: ChildProcess;
  readonly ready: Promise<Ready>;

  /** The program at `file` calls {@link runSimulatorProcess}. */
  constructor(file: URL, input: unknown) {
    this.#process = spawn(process.execPath, ['--import', 'tsx', fileURLToPath(file), JSON.stringify(input)], {
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    });
    this.ready = this.#answer<Ready>();
    // The next call reports the error.
    this.ready.catch(() => {});
  }

  /** The counts since the last report. */
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

/** The child process: sends its ready message, and a report for each request. Ends with the benchmark. */
export async function runSimulatorProcess<Input>(
  start: (input: Input) => Promise<{ ready: unknown; tell(): unknown }>,
): Promise<void> {
  process.on('disconnect', () => process.exit(0));
  const { ready, tell } = await start(JSON.parse(process.argv[2] ?? '') as Input);
  process.on('message', () => process.send?.(tell()));
  process.send?.(ready);
}

/** Counts by name until the counts are taken. */
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
