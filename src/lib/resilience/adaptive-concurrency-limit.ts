import type { Clock } from '../clock.ts';

interface Waiter {
  acquire(): void;
}

/** Limits concurrency in first-come, first-served order; the limit may change from call to call. */
export class AdaptiveConcurrencyLimit {
  readonly #clock: Clock;
  readonly #max: () => number;
  readonly #line: Waiter[] = [];
  #running = 0;

  constructor(clock: Clock, max: () => number) {
    this.#clock = clock;
    this.#max = max;
  }

  get running(): number {
    return this.#running;
  }

  /**
   * Waits for a free slot and returns the function that frees it. Throws the signal's reason, or `late()` when no slot
   * is free by `until`, in the clock's monotonic milliseconds.
   */
  async acquire(until: number, signal: AbortSignal, late: () => unknown): Promise<() => void> {
    signal.throwIfAborted();
    if (this.#line.length > 0 || this.#running >= this.#max()) await this.#wait(until, signal, late);
    else this.#running += 1;
    let isIn = true;
    return () => {
      if (!isIn) return;
      isIn = false;
      this.#running -= 1;
      this.#startNext();
    };
  }

  async #wait(until: number, signal: AbortSignal, late: () => unknown): Promise<void> {
    const over = new AbortController();
    let waiter: Waiter | undefined;
    const turn = new Promise<void>((resolve) => {
      waiter = { acquire: resolve };
      this.#line.push(waiter);
    });
    const leave = (reason: unknown): void => {
      const at = waiter ? this.#line.indexOf(waiter) : -1;
      // A slot was assigned at the same moment: the caller that got it has to free it.
      if (at < 0) return;
      this.#line.splice(at, 1);
      throw reason;
    };
    const onAbort = (): void => over.abort(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
    // When a slot is assigned, the sleep ends with an abort that has no listener any more.
    const tooLate = this.#clock.sleep(Math.max(0, until - this.#clock.monotonic()), over.signal).then(
      () => leave(late()),
      () => (signal.aborted ? leave(signal.reason) : undefined),
    );
    tooLate.catch(() => {});
    try {
      await Promise.race([turn, tooLate]);
    } finally {
      signal.removeEventListener('abort', onAbort);
      over.abort();
    }
  }

  #startNext(): void {
    while (this.#line.length > 0 && this.#running < this.#max()) {
      this.#running += 1;
      this.#line.shift()?.acquire();
    }
  }
}
