/** Bytes that come piece by piece, taken in the amounts that are wanted. */
export class ByteReader {
  readonly #pieces: AsyncIterator<Buffer>;
  readonly #endedEarly: () => Error;
  #held: Buffer = Buffer.alloc(0);

  /** `endedEarly` makes what is thrown when more is wanted than there is. */
  constructor(pieces: AsyncIterable<Buffer>, endedEarly: () => Error) {
    this.#pieces = pieces[Symbol.asyncIterator]();
    this.#endedEarly = endedEarly;
  }

  /** Fewer at the end. What was looked at is still to come. */
  async peek(length: number): Promise<Buffer> {
    const parts = [this.#held];
    for (let have = this.#held.length; have < length; ) {
      const next = await this.#pieces.next();
      if (next.done) break;
      parts.push(next.value);
      have += next.value.length;
    }
    if (parts.length > 1) this.#held = Buffer.concat(parts);
    return this.#held.subarray(0, length);
  }

  async take(length: number): Promise<Buffer> {
    const found = await this.peek(length);
    if (found.length < length) throw this.#endedEarly();
    this.#held = this.#held.subarray(length);
    return found;
  }

  /** Everything else. */
  async *rest(): AsyncGenerator<Buffer> {
    if (this.#held.length > 0) yield this.#held;
    for (;;) {
      const next = await this.#pieces.next();
      if (next.done) return;
      yield next.value;
    }
  }
}
