import type { Closable } from '../../../engine/platform.ts';
import type { Clock } from '../../../lib/clock.ts';

/** As many as are remembered; the one that began first is forgotten first, and begins again. */
const maxTracked = 1000;

/**
 * How long something has been seen to wait, by this process and at every look since. Nothing is written down of it: the
 * time in which nobody looked counts for nothing, and neither do clocks that jump or differ.
 */
export class WaitDurations implements Closable {
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #since = new Map<string, number>();

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock;
  }

  /** In milliseconds; 0 when it is seen for the first time. */
  see(key: string): number {
    const now = this.#clock.monotonic();
    const since = this.#since.get(key) ?? now;
    this.#since.set(key, since);
    const [oldest] = this.#since.keys();
    if (this.#since.size > maxTracked && oldest !== undefined) this.#since.delete(oldest);
    return now - since;
  }

  /** It does not wait any more. */
  forget(key: string): void {
    this.#since.delete(key);
  }

  close(): void {
    this.#since.clear();
  }
}
