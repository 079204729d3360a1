import { Errno } from './errno.ts';

/** An open file. Several descriptors can share one, including its position. */
export interface OpenFile {
  /** Empty at the end. Waits for further data. */
  read(max: number, signal: AbortSignal): Promise<Buffer>;
  /** Waits until a reader takes it. Throws an Errno. */
  write(bytes: Buffer, signal: AbortSignal): Promise<void>;
  /** Seeks to this many bytes from the start, if the file supports it. */
  seek?(offset: number): void;
  /** Called once, when the last descriptor is closed. */
  release?(): void;
  /** The underlying node, for programs that need more of a device than its bytes. */
  readonly node?: object;
}

/** One reference to an open file. */
export class Descriptor {
  readonly file: OpenFile;
  readonly #count: { open: number };
  #closed = false;

  constructor(file: OpenFile, count = { open: 0 }) {
    this.file = file;
    this.#count = count;
    count.open += 1;
  }

  duplicate(): Descriptor {
    if (this.#closed) throw new Errno('EBADF');
    return new Descriptor(this.file, this.#count);
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#count.open -= 1;
    if (this.#count.open === 0) this.file.release?.();
  }
}

/** The open files of one process by number. */
export class Descriptors {
  readonly #table = new Map<number, Descriptor>();

  get(number: number): Descriptor | undefined {
    return this.#table.get(number);
  }

  /** Installs a descriptor under a number; the previous one is closed. */
  set(number: number, descriptor: Descriptor): void {
    this.#table.get(number)?.close();
    this.#table.set(number, descriptor);
  }

  delete(number: number): void {
    this.#table.get(number)?.close();
    this.#table.delete(number);
  }

  /** The descriptors of a child process. */
  copy(): Descriptors {
    const copy = new Descriptors();
    for (const [number, descriptor] of this.#table) copy.set(number, descriptor.duplicate());
    return copy;
  }

  closeAll(): void {
    for (const descriptor of this.#table.values()) descriptor.close();
    this.#table.clear();
  }
}
