import type { Clock } from '../clock.ts';

/** How long a call waits for a free slot. */
export interface SlotDeadline {
  readonly clock: Pick<Clock, 'monotonic' | 'sleep'>;
  /** In the clock's monotonic milliseconds. */
  readonly until: number;
  /** The error of a call that gets no slot in time. */
  toError(): unknown;
}

/** Limits concurrency. The rest waits in a queue, first come, first served, and leaves it when its signal aborts. */
export class ConcurrencyLimit {
  readonly #max: () => number;
  /** Starts the waiting calls, the oldest first. */
  readonly #queue: (() => void)[] = [];
  #running = 0;

  /** `max`: maximum number of concurrent calls. A function is evaluated for every call, so that the limit adapts. */
  constructor(max: number | (() => number)) {
    this.#max = typeof max === 'number' ? () => max : max;
  }

  get running(): number {
    return this.#running;
  }

  /** Runs the work when a slot is free. */
  async run<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T> {
    const release = await this.acquire(signal);
    try {
      return await work();
    } finally {
      release();
    }
  }

  /** Waits for a free slot and returns the function that frees it. Throws the signal's reason, or the deadline's error. */
  async acquire(signal: AbortSignal, deadline?: SlotDeadline): Promise<() => void> {
    signal.throwIfAborted();
    if (this.#queue.length > 0 || this.#running >= this.#max()) await this.#wait(signal, deadline);
    else this.#running += 1;
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      this.#running -= 1;
      this.#startNext();
    };
  }

  #wait(signal: AbortSignal, deadline: SlotDeadline | undefined): Promise<void> {
    const timer = new AbortController();
    return new Promise<void>((resolve, reject) => {
      const end = (): void => {
        signal.removeEventListener('abort', onAbort);
        timer.abort();
      };
      const start = (): void => {
        end();
        resolve();
      };
      const leave = (reason: unknown): void => {
        this.#queue.splice(this.#queue.indexOf(start), 1);
        end();
        reject(reason);
      };
      const onAbort = (): void => leave(signal.reason);
      signal.addEventListener('abort', onAbort, { once: true });
      this.#queue.push(start);
      if (!deadline) return;
      const { clock, until, toError } = deadline;
      const late = (): void => {
        // A slot may be assigned between the end of the sleep and this callback.
        if (!timer.signal.aborted) leave(toError());
      };
      clock.sleep(Math.max(0, until - clock.monotonic()), timer.signal).then(late, () => {});
    });
  }

  #startNext(): void {
    while (this.#queue.length > 0 && this.#running < this.#max()) {
      this.#running += 1;
      this.#queue.shift()?.();
    }
  }
}
