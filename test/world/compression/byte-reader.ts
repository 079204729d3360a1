/** A byte stream, read in the requested amounts. */
export class ByteReader {
  readonly #pieces: AsyncIterator<Buffer>;
  readonly #endedEarly: () => Error;
  #held: Buffer = Buffer.alloc(0);

  /** `endedEarly` makes the error for a read beyond the end. */
  constructor(pieces: AsyncIterable<Buffer>, endedEarly: () => Error) {
    this.#pieces = pieces[Symbol.asyncIterator]();
    this.#endedEarly = endedEarly;
  }

  /** Fewer at the end. The bytes are not consumed. */
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
}
