import type { Closable } from '../../../engine/connection.ts';
import type { Clock } from '../../../lib/clock.ts';

/** Limit of tracked keys. The oldest is evicted first and starts again. */
const maxTracked = 1000;

/**
 * How long this process has observed something to wait, without interruption. In memory only: time without observation
 * does not count, and changes of the wall clock have no effect.
 */
export class WaitDurations implements Closable {
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #since = new Map<string, number>();

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock;
  }

  /** Milliseconds since the first observation; 0 for the first. */
  record(key: string): number {
    const now = this.#clock.monotonic();
    const since = this.#since.get(key) ?? now;
    this.#since.set(key, since);
    const [oldest] = this.#since.keys();
    if (this.#since.size > maxTracked && oldest !== undefined) this.#since.delete(oldest);
    return now - since;
  }

  /** The wait is over. */
  forget(key: string): void {
    this.#since.delete(key);
  }

  close(): void {
    this.#since.clear();
  }
}
