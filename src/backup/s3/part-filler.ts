import { createHash, type Hash } from 'node:crypto';

/** The least that S3 allows. It allows 10 000 parts, of equal size except for the last: enough for 48 GiB. */
const partBytes = 5 * 1024 * 1024;

export interface FilledPart {
  /** The first one has the number 1. */
  readonly number: number;
  readonly content: Buffer;
  readonly md5: Buffer;
}

/**
 * Collects the pieces of an object in parts of one size, and hashes them while they are in the cache of the processor. Its
 * buffers take turns: the content of a part is valid until the others have been filled as well.
 */
export class PartFiller {
  readonly #buffers: (Buffer | undefined)[];
  readonly #hash = createHash('sha256');
  readonly #md5OfParts = createHash('md5');
  #md5: Hash = createHash('md5');
  #used = 0;
  #parts = 0;
  #bytes = 0;

  constructor(buffers: number) {
    this.#buffers = new Array(buffers).fill(undefined);
  }

  /** Yields the parts that this piece fills. Go on when the buffer of the next one is free. */
  *add(piece: Uint8Array): Generator<FilledPart> {
    for (let at = 0; at < piece.length; ) {
      const taken = piece.subarray(at, at + partBytes - this.#used);
      this.#buffer().set(taken, this.#used);
      this.#hash.update(taken);
      this.#md5.update(taken);
      this.#used += taken.length;
      this.#bytes += taken.length;
      at += taken.length;
      if (this.#used === partBytes) yield this.#finishPart();
    }
  }

  /** Yields the last part, unless it is empty. */
  *end(): Generator<FilledPart> {
    if (this.#used > 0) yield this.#finishPart();
  }

  /** What the object is: call it once, after the end. */
  summary(): { readonly bytes: number; readonly sha256: string; readonly md5OfParts: string } {
    return { bytes: this.#bytes, sha256: this.#hash.digest('hex'), md5OfParts: this.#md5OfParts.digest('hex') };
  }

  #finishPart(): FilledPart {
    const md5 = this.#md5.digest();
    const content = this.#buffer().subarray(0, this.#used);
    this.#md5OfParts.update(md5);
    this.#md5 = createHash('md5');
    this.#used = 0;
    this.#parts += 1;
    return { number: this.#parts, content, md5 };
  }

  /** Made when it is needed: most objects are small. */
  #buffer(): Buffer {
    const index = this.#parts % this.#buffers.length;
    this.#buffers[index] ??= Buffer.allocUnsafeSlow(partBytes);
    return this.#buffers[index];
  }
}
