import { setMaxListeners } from 'node:events';
import type { OpenMode } from './files/file-nodes.ts';
import { Errno, Killed, signals } from './io/errno.ts';
import { Descriptor, type Descriptors } from './io/open-file.ts';
import type { RescueSystem } from './rescue-system.ts';

/** A program of the server: a function with access to its process only. It returns an exit status. */
export type RescueProgram = (process: RescueProcess) => Promise<number> | number;

export interface RescueProcessOptions {
  readonly system: RescueSystem;
  readonly args: readonly string[];
  readonly environment: ReadonlyMap<string, string>;
  readonly descriptors: Descriptors;
  readonly cwd: string;
  /** Aborts when the process's owner ends. */
  readonly signal: AbortSignal;
}

/** One running program. Text is bytes as latin1, so that no byte is lost. */
export class RescueProcess {
  readonly system: RescueSystem;
  readonly id: number;
  /** Its name and its arguments. */
  readonly args: readonly string[];
  readonly environment: ReadonlyMap<string, string>;
  readonly descriptors: Descriptors;
  /** A shell changes it. */
  cwd: string;
  readonly signal: AbortSignal;
  readonly #end = new AbortController();

  constructor({ system, args, environment, descriptors, cwd, signal }: RescueProcessOptions) {
    this.system = system;
    this.id = system.nextProcessId();
    this.args = args;
    this.environment = environment;
    this.descriptors = descriptors;
    this.cwd = cwd;
    this.signal = AbortSignal.any([signal, this.#end.signal]);
    setMaxListeners(0, this.signal);
  }

  get name(): string {
    return (this.args[0] ?? '').split('/').pop() ?? '';
  }

  /** The same process under other arguments. */
  with(args: readonly string[]): RescueProcess {
    const { system, environment, descriptors, cwd, signal } = this;
    return new RescueProcess({ system, args, environment, descriptors, cwd, signal });
  }

  /** A signal: it ends every wait of the process. */
  kill(signal: number): void {
    this.#end.abort(new Killed(signal));
  }

  async read(number: number, max = 65536): Promise<Buffer> {
    this.signal.throwIfAborted();
    return await this.#file(number).read(max, this.signal);
  }

  /** A write to a pipe without readers ends the process, like SIGPIPE. */
  async write(number: number, data: Buffer | string): Promise<void> {
    this.signal.throwIfAborted();
    const bytes = typeof data === 'string' ? Buffer.from(data, 'latin1') : data;
    if (bytes.length === 0) return;
    try {
      await this.#file(number).write(bytes, this.signal);
    } catch (error) {
      if (error instanceof Errno && error.code === 'EPIPE') throw new Killed(signals.PIPE);
      throw error;
    }
  }

  async out(data: Buffer | string): Promise<void> {
    await this.write(1, data);
  }

  /** An error message after the program's name. Returns `status`. */
  async fail(message: string, status = 1): Promise<number> {
    await this.error(`${this.name}: ${message}\n`);
    return status;
  }

  async error(text: string): Promise<void> {
    if (this.descriptors.get(2)) await this.write(2, text);
  }

  /** The input, chunk by chunk. */
  async *chunks(number = 0): AsyncGenerator<Buffer> {
    for (;;) {
      const bytes = await this.read(number, 1 << 22);
      if (bytes.length === 0) return;
      yield bytes;
    }
  }

  async readAll(number = 0): Promise<Buffer> {
    const found: Buffer[] = [];
    for await (const bytes of this.chunks(number)) found.push(bytes);
    return Buffer.concat(found);
  }

  /** Opens a path. Throws an Errno. */
  async open(path: string, mode: OpenMode): Promise<Descriptor> {
    return new Descriptor(await this.system.files.open(path, this.cwd, { ...mode, by: this.name }, this.signal));
  }

  /** Reads a whole file. */
  async readFile(path: string): Promise<Buffer> {
    const opened = await this.open(path, { read: true, write: false });
    try {
      const found: Buffer[] = [];
      for (;;) {
        const bytes = await opened.file.read(1 << 22, this.signal);
        if (bytes.length === 0) return Buffer.concat(found);
        found.push(bytes);
      }
    } finally {
      opened.close();
    }
  }

  /** Waits in simulated time. */
  async sleep(seconds: number): Promise<void> {
    try {
      await this.system.clock.sleep(seconds, this.signal);
    } catch (error) {
      this.signal.throwIfAborted();
      throw error;
    }
  }

  #file(number: number) {
    const found = this.descriptors.get(number);
    if (!found) throw new Errno('EBADF');
    return found.file;
  }
}
