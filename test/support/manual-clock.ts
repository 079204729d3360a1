import type { Clock } from '../../src/lib/clock.ts';

interface Sleeper {
  readonly due: number;
  readonly wake: () => void;
}

/** A clock that only moves when it is told to. Wall time advances with the monotonic time and can jump separately. */
export class ManualClock implements Clock {
  #monotonic = 0;
  #wall: number;
  readonly #sleepers = new Set<Sleeper>();

  constructor(start: Date | string = '2026-11-21T09:00:00Z') {
    this.#wall = new Date(start).getTime();
  }

  now(): Date {
    return new Date(this.#wall);
  }

  monotonic(): number {
    return this.#monotonic;
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    if (signal?.aborted) return Promise.reject(signal.reason);
    return new Promise((resolve, reject) => {
      const settle = (done: () => void) => {
        this.#sleepers.delete(sleeper);
        signal?.removeEventListener('abort', onAbort);
        done();
      };
      const onAbort = () => settle(() => reject(signal?.reason));
      const sleeper: Sleeper = { due: this.#monotonic + Math.max(ms, 0), wake: () => settle(resolve) };
      this.#sleepers.add(sleeper);
      signal?.addEventListener('abort', onAbort, { once: true });
    });
  }

  /** Number of sleepers. */
  get sleeping(): number {
    return this.#sleepers.size;
  }

  /** Milliseconds until the next sleeper wakes; `undefined` without sleepers. */
  get nextDueMs(): number | undefined {
    const dues = [...this.#sleepers].map((sleeper) => sleeper.due - this.#monotonic);
    return dues.length > 0 ? Math.max(0, Math.min(...dues)) : undefined;
  }

  /** Advances by `ms`. Sleepers that are due on the way wake in order, and run before the clock advances further. */
  async advance(ms: number): Promise<void> {
    const target = this.#monotonic + ms;
    await this.settle();
    for (;;) {
      const next = [...this.#sleepers].filter((s) => s.due <= target).sort((a, b) => a.due - b.due)[0];
      if (!next) break;
      this.#moveTo(Math.max(next.due, this.#monotonic));
      next.wake();
      await this.settle();
    }
    this.#moveTo(target);
    await this.settle();
  }

  /** Advances to the next due sleeper and wakes it. Returns false without sleepers. */
  async advanceToNext(): Promise<boolean> {
    const ms = this.nextDueMs;
    if (ms === undefined) return false;
    await this.advance(ms);
    return true;
  }

  /** Advances without waking any sleeper, like a process that is stopped. They wake with the next {@link advance}. */
  standStill(ms: number): void {
    this.#moveTo(this.#monotonic + ms);
  }

  /** Moves the wall clock alone, like NTP or an administrator. */
  jump(ms: number): void {
    this.#wall += ms;
  }

  /** Runs all callbacks that are ready. */
  async settle(): Promise<void> {
    for (let turn = 0; turn < 3; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  }

  #moveTo(monotonic: number): void {
    this.#wall += monotonic - this.#monotonic;
    this.#monotonic = monotonic;
  }
}
