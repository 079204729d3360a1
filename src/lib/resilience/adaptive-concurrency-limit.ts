import type { Clock } from '../clock.ts';

interface Waiter {
  enter(): void;
}

/** Lets so many in at a time, first come first served; how many may change from call to call. */
export class AdaptiveConcurrencyLimit {
  readonly #clock: Clock;
  readonly #most: () => number;
  readonly #line: Waiter[] = [];
  #running = 0;

  constructor(clock: Clock, most: () => number) {
    this.#clock = clock;
    this.#most = most;
  }

  get running(): number {
    return this.#running;
  }

  /**
   * Waits for its turn and gives what ends it. Throws the signal's reason, or `late()` when its turn has not come by
   * `until`, in the clock's monotonic milliseconds.
   */
  async enter(until: number, signal: AbortSignal, late: () => unknown): Promise<() => void> {
    signal.throwIfAborted();
    if (this.#line.length > 0 || this.#running >= this.#most()) await this.#wait(until, signal, late);
    else this.#running += 1;
    let isIn = true;
    return () => {
      if (!isIn) return;
      isIn = false;
      this.#running -= 1;
      this.#admit();
    };
  }

  async #wait(until: number, signal: AbortSignal, late: () => unknown): Promise<void> {
    const over = new AbortController();
    let waiter: Waiter | undefined;
    const turn = new Promise<void>((resolve) => {
      waiter = { enter: resolve };
      this.#line.push(waiter);
    });
    const leave = (reason: unknown): void => {
      const at = waiter ? this.#line.indexOf(waiter) : -1;
      // Its turn has come in the same moment: then it has to be ended by whoever got it.
      if (at < 0) return;
      this.#line.splice(at, 1);
      throw reason;
    };
    const onAbort = (): void => over.abort(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
    // It ends by an abort when the turn has come, and nobody listens any more.
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

  #admit(): void {
    while (this.#line.length > 0 && this.#running < this.#most()) {
      this.#running += 1;
      this.#line.shift()?.enter();
    }
  }
}
