/** The memory of each chunk besides its bytes: a response of many small chunks fills the memory like a long one. */
const chunkOverheadBytes = 64;

/** Another system sent more bytes than the limit allows. */
export class ContentTooLargeError extends RangeError {
  constructor(max: number, whose = 'the answer') {
    super(`${whose} is longer than ${max} bytes`);
    this.name = 'AnswerTooLong';
  }
}

/** Counts the bytes of one response. */
export class BoundedByteCounter {
  readonly #maxBytes: number;
  readonly #source: string | undefined;
  #cost = 0;

  constructor(max: number, whose?: string) {
    this.#maxBytes = max;
    this.#source = whose;
  }

  /** Throws {@link ContentTooLargeError} when the limit is exceeded. */
  add(chunk: Uint8Array): void {
    this.#cost += chunk.length + chunkOverheadBytes;
    if (this.#cost > this.#maxBytes + chunkOverheadBytes) throw new ContentTooLargeError(this.#maxBytes, this.#source);
  }

  reset(): void {
    this.#cost = 0;
  }
}

/**
 * All chunks concatenated, limited to `maxBytes` bytes. Beyond that it throws {@link ContentTooLargeError} and ends the
 * source.
 */
export async function readBounded(pieces: AsyncIterable<unknown>, max: number, whose?: string): Promise<Buffer> {
  const count = new BoundedByteCounter(max, whose);
  const parts: Uint8Array[] = [];
  for await (const chunk of pieces) {
    if (!(chunk instanceof Uint8Array)) throw new TypeError('the response is not a byte stream');
    count.add(chunk);
    parts.push(chunk);
  }
  return Buffer.concat(parts);
}
