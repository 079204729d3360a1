import type { Closable } from '../../../engine/platform.ts';
import type { Clock } from '../../../lib/clock.ts';
import { type ReservationRequest, ReservationTable } from './reservation-table.ts';

/** A machine whose disks are not made after so long has other troubles. Its room is no longer reckoned with. */
const reservationMinutes = 30;

/**
 * Room of one system that machines of this process have been given and not taken yet: many that choose at once would all see the same
 * pool as the emptiest, and many that look at once would all see room there. It outlives no process.
 */
export class DiskSpaceReservations implements Closable {
  readonly #clock: Clock;
  readonly #given = new Map<string, { pool: string; bytes: number; until: number }>();
  /** By place: the dataset that all machines of a prefix are made below. */
  readonly #promised = new Map<string, ReservationTable>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The pool that has most beside what was given to others, the first of equals; that much of it is given to `id` now. */
  choose(id: string, bytes: number, available: ReadonlyMap<string, number>): string | undefined {
    const now = this.#clock.monotonic();
    for (const [other, { until }] of this.#given) if (other === id || now >= until) this.#given.delete(other);
    const left = [...available].map(([pool, free]) => ({ pool, left: free - this.#givenOn(pool) }));
    const [best] = left.sort((a, b) => b.left - a.left);
    if (best) this.#given.set(id, { pool: best.pool, bytes, until: now + reservationMinutes * 60_000 });
    return best?.pool;
  }

  /**
   * Promises to that machine all that it wants, by place, or nothing and says where too little is left. Places are asked in one order for
   * all, so that no two machines hold what the other waits for. `ask`: as of {@link ReservationTable}.
   */
  async hold(
    id: string,
    wants: ReadonlyMap<string, ReservationRequest>,
    ask: (place: string) => Promise<number>,
    signal: AbortSignal,
  ): Promise<{ held: true } | { held: false; place: string; left: number }> {
    for (const [place, want] of [...wants].sort(([a], [b]) => (a < b ? -1 : 1))) {
      const answer = await this.#at(place).hold(id, want, () => ask(place), signal);
      if (answer.held) continue;
      this.abandon(id);
      return { ...answer, place };
    }
    return { held: true };
  }

  /** Whether that machine has been promised something at each of these places. */
  has(id: string, places: readonly string[]): boolean {
    return places.every((place) => this.#at(place).has(id));
  }

  /** Its disks are made, or never will be. */
  settle(id: string): void {
    this.#given.delete(id);
    for (const book of this.#promised.values()) book.settle(id);
  }

  /** They will not be made for now: others may have the room. */
  abandon(id: string): void {
    for (const book of this.#promised.values()) book.abandon(id);
  }

  close(): void {
    this.#given.clear();
    for (const book of this.#promised.values()) book.close();
  }

  #at(place: string): ReservationTable {
    const known = this.#promised.get(place) ?? new ReservationTable(this.#clock, reservationMinutes);
    this.#promised.set(place, known);
    return known;
  }

  #givenOn(pool: string): number {
    return [...this.#given.values()].reduce((sum, one) => sum + (one.pool === pool ? one.bytes : 0), 0);
  }
}
