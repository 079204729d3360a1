/** The memory of each chunk besides its bytes: a response of many small chunks fills the memory like a long one. */
const chunkOverheadBytes = 64;

/** Another system sent more bytes than the limit allows. */
export class ContentTooLargeError extends RangeError {
  constructor(most: number, whose = 'the answer') {
    super(`${whose} is longer than ${most} bytes`);
    this.name = 'AnswerTooLong';
  }
}

/** Counts the bytes of one response. */
export class BoundedByteCounter {
  readonly #most: number;
  readonly #whose: string | undefined;
  #cost = 0;

  constructor(most: number, whose?: string) {
    this.#most = most;
    this.#whose = whose;
  }

  /** Throws {@link ContentTooLargeError} when the limit is exceeded. */
  add(piece: Uint8Array): void {
    this.#cost += piece.length + chunkOverheadBytes;
    if (this.#cost > this.#most + chunkOverheadBytes) throw new ContentTooLargeError(this.#most, this.#whose);
  }

  reset(): void {
    this.#cost = 0;
  }
}

/**
 * All chunks concatenated, limited to `most` bytes. Beyond that it throws {@link ContentTooLargeError} and ends the
 * source.
 */
export async function readBounded(pieces: AsyncIterable<unknown>, most: number, whose?: string): Promise<Buffer> {
  const count = new BoundedByteCounter(most, whose);
  const parts: Uint8Array[] = [];
  for await (const piece of pieces) {
    if (!(piece instanceof Uint8Array)) throw new TypeError('the answer is not made of bytes');
    count.add(piece);
    parts.push(piece);
  }
  return Buffer.concat(parts);
}
