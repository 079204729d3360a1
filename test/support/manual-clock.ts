import type { Clock } from '../../src/lib/clock.ts';

interface Sleeper {
  readonly due: number;
  readonly wake: () => void;
}

/**
 * A clock that stands still until it is told to move. Wall time moves along with the monotonic time and can be made to
 * jump by itself.
 */
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

  /** How many sleep. */
  get sleeping(): number {
    return this.#sleepers.size;
  }

  /** Milliseconds until the next one wakes, or `undefined` when nobody sleeps. */
  get nextDueMs(): number | undefined {
    const dues = [...this.#sleepers].map((sleeper) => sleeper.due - this.#monotonic);
    return dues.length > 0 ? Math.max(0, Math.min(...dues)) : undefined;
  }

  /** Moves on by `ms`. Whoever is due on the way wakes in order, and gets to run before the clock moves further. */
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

  /** Jumps to the next due sleeper and wakes it. Returns false when nobody sleeps. */
  async advanceToNext(): Promise<boolean> {
    const ms = this.nextDueMs;
    if (ms === undefined) return false;
    await this.advance(ms);
    return true;
  }

  /** Time passes and nobody wakes, as in a process that stands still. They wake with the next {@link advance}. */
  standStill(ms: number): void {
    this.#moveTo(this.#monotonic + ms);
  }

  /** Moves the wall clock alone, as NTP or a person would. */
  jump(ms: number): void {
    this.#wall += ms;
  }

  /** Lets everything run that waits for nothing but its turn. */
  async settle(): Promise<void> {
    for (let turn = 0; turn < 3; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  }

  #moveTo(monotonic: number): void {
    this.#wall += monotonic - this.#monotonic;
    this.#monotonic = monotonic;
  }
}
