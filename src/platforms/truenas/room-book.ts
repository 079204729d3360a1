import type { Closable } from '../../engine/platform.ts';
import type { Clock } from '../../lib/clock.ts';

/** A machine whose disks are not made after so long has other troubles. Its room is no longer reckoned with. */
const holdMinutes = 30;

/**
 * Room on the pools of one system that machines of this process have been given and not taken yet: many that choose at once would
 * all see the same pool as the emptiest. It outlives no process; it only makes a choice better, TrueNAS itself reserves.
 */
export class RoomBook implements Closable {
  readonly #clock: Clock;
  readonly #given = new Map<string, { pool: string; bytes: number; until: number }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The pool that has most beside what was given to others, the first of equals; that much of it is given to `id` now. */
  choose(id: string, bytes: number, available: ReadonlyMap<string, number>): string | undefined {
    const now = this.#clock.monotonic();
    for (const [other, { until }] of this.#given) if (other === id || now >= until) this.#given.delete(other);
    const left = [...available].map(([pool, free]) => ({ pool, left: free - this.#givenOn(pool) }));
    const [best] = left.sort((a, b) => b.left - a.left);
    if (best) this.#given.set(id, { pool: best.pool, bytes, until: now + holdMinutes * 60_000 });
    return best?.pool;
  }

  /** Its disks are made, or never will be. */
  settle(id: string): void {
    this.#given.delete(id);
  }

  close(): void {
    this.#given.clear();
  }

  #givenOn(pool: string): number {
    return [...this.#given.values()].reduce((sum, one) => sum + (one.pool === pool ? one.bytes : 0), 0);
  }
}
