/** What each piece costs beside its bytes: an answer of many small pieces fills the memory as well as a long one. */
const pieceBytes = 64;

/** Another system sent more than is read of it. */
export class AnswerTooLong extends RangeError {
  constructor(most: number, whose = 'the answer') {
    super(`${whose} is longer than ${most} bytes`);
    this.name = 'AnswerTooLong';
  }
}

/** Counts what comes in of one answer. */
export class ByteCount {
  readonly #most: number;
  readonly #whose: string | undefined;
  #cost = 0;

  constructor(most: number, whose?: string) {
    this.#most = most;
    this.#whose = whose;
  }

  /** Throws {@link AnswerTooLong} once that is too much. */
  add(piece: Uint8Array): void {
    this.#cost += piece.length + pieceBytes;
    if (this.#cost > this.#most + pieceBytes) throw new AnswerTooLong(this.#most, this.#whose);
  }

  reset(): void {
    this.#cost = 0;
  }
}

/** All pieces in one, read no further than `most` bytes. Throws {@link AnswerTooLong}, and ends the source then. */
export async function readBounded(pieces: AsyncIterable<unknown>, most: number, whose?: string): Promise<Buffer> {
  const count = new ByteCount(most, whose);
  const parts: Uint8Array[] = [];
  for await (const piece of pieces) {
    if (!(piece instanceof Uint8Array)) throw new TypeError('the answer is not made of bytes');
    count.add(piece);
    parts.push(piece);
  }
  return Buffer.concat(parts);
}
