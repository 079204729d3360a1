import { Changes } from './changes.ts';
import { Errno } from './errno.ts';
import { Descriptor, type OpenFile } from './open-file.ts';

/** Capacity of a pipe before its writer waits, as on Linux. */
const capacity = 64 * 1024;

const notOpen = (): Promise<never> => Promise.reject(new Errno('EBADF'));

/** A byte stream from writers to readers. It ends when all writers have closed it; without readers it breaks. */
export class Pipe {
  #chunks: Buffer[] = [];
  #held = 0;
  #writers = 0;
  #readers = 0;
  readonly #changes = new Changes();

  /** Opens one end. The other one may not exist yet. */
  openReader(): OpenFile {
    this.#readers += 1;
    this.#changes.tell();
    return {
      node: this,
      read: (max, signal) => this.#read(max, signal),
      write: notOpen,
      release: () => {
        this.#readers -= 1;
        if (this.#readers === 0) [this.#chunks, this.#held] = [[], 0];
        this.#changes.tell();
      },
    };
  }

  openWriter(): OpenFile {
    this.#writers += 1;
    this.#changes.tell();
    return {
      node: this,
      read: notOpen,
      write: (bytes, signal) => this.#write(bytes, signal),
      release: () => {
        this.#writers -= 1;
        this.#changes.tell();
      },
    };
  }

  /** Both ends of a new pipe. */
  static make(): { reader: Descriptor; writer: Descriptor } {
    const pipe = new Pipe();
    return { reader: new Descriptor(pipe.openReader()), writer: new Descriptor(pipe.openWriter()) };
  }

  /** Like `open` of a FIFO: waits until the other end is open. */
  async awaitOther(end: 'reader' | 'writer', signal: AbortSignal): Promise<void> {
    while ((end === 'reader' ? this.#writers : this.#readers) === 0) await this.#changes.next(signal);
  }

  async #read(max: number, signal: AbortSignal): Promise<Buffer> {
    while (this.#chunks.length === 0) {
      if (this.#writers === 0) return Buffer.alloc(0);
      await this.#changes.next(signal);
    }
    signal.throwIfAborted();
    const [first = Buffer.alloc(0)] = this.#chunks;
    const taken = first.subarray(0, max);
    if (taken.length === first.length) this.#chunks.shift();
    else this.#chunks[0] = first.subarray(max);
    this.#held -= taken.length;
    this.#changes.tell();
    return taken;
  }

  async #write(bytes: Buffer, signal: AbortSignal): Promise<void> {
    while (this.#held >= capacity && this.#readers > 0) await this.#changes.next(signal);
    signal.throwIfAborted();
    if (this.#readers === 0) throw new Errno('EPIPE');
    if (bytes.length === 0) return;
    this.#chunks.push(bytes);
    this.#held += bytes.length;
    this.#changes.tell();
  }
}
