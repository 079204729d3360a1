import type { Closable } from '../../../engine/connection.ts';
import type { Clock } from '../../../lib/clock.ts';
import { type ReservationRequest, ReservationTable } from './reservation-table.ts';

/** A machine without disks after this time is stuck, so its reservation expires. */
const reservationMinutes = 30;

/**
 * Disk space on one system that is reserved for machines of this process and not in use yet. Without it, concurrent
 * machines would all see the same pool as the emptiest, and the same space as free. It does not survive the process.
 */
export class DiskSpaceReservations implements Closable {
  readonly #clock: Clock;
  readonly #given = new Map<string, { pool: string; bytes: number; until: number }>();
  /** By place: the parent dataset of all machines of a prefix. */
  readonly #promised = new Map<string, ReservationTable>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Chooses the pool with most unreserved space, the first of equals, and reserves `bytes` on it for `id`. */
  choose(id: string, bytes: number, available: ReadonlyMap<string, number>): string | undefined {
    const now = this.#clock.monotonic();
    for (const [other, { until }] of this.#given) if (other === id || now >= until) this.#given.delete(other);
    const left = [...available].map(([pool, free]) => ({ pool, left: free - this.#givenOn(pool) }));
    const [best] = left.sort((a, b) => b.left - a.left);
    if (best) this.#given.set(id, { pool: best.pool, bytes, until: now + reservationMinutes * 60_000 });
    return best?.pool;
  }

  /**
   * Reserves all requests of a machine, by place, or none, and returns the place without enough space. Places are asked
   * in the same order for all machines, so that two of them never wait for each other. `ask`: see
   * {@link ReservationTable}.
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

  /** True when the machine has a reservation at each of these places. */
  has(id: string, places: readonly string[]): boolean {
    return places.every((place) => this.#at(place).has(id));
  }

  /** The disks were created, or never will be. */
  settle(id: string): void {
    this.#given.delete(id);
    for (const book of this.#promised.values()) book.settle(id);
  }

  /** The disks are not created for now, so others may use the space. */
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
