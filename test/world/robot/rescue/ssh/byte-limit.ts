/** A limit after which no more bytes pass. `onReached` is called once. */
export interface ByteLimit {
  readonly bytes: number;
  readonly onReached: () => void;
}

/** The remaining bytes of a limit; unlimited without one. */
export class RemainingBytes {
  #left = Number.POSITIVE_INFINITY;
  readonly #onReached: () => void;

  constructor(limit: ByteLimit | undefined) {
    this.#onReached = limit?.onReached ?? (() => {});
    this.#spendTo(limit?.bytes ?? this.#left);
  }

  get isSpent(): boolean {
    return this.#left === 0;
  }

  /** The prefix of the data that passes. */
  take(bytes: Buffer): Buffer {
    const taken = bytes.subarray(0, Math.min(bytes.length, this.#left));
    if (taken.length > 0) this.#spendTo(this.#left - taken.length);
    return taken;
  }

  #spendTo(left: number): void {
    this.#left = left;
    if (left === 0) this.#onReached();
  }
}
