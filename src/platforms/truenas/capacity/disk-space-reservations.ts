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
  readonly #assigned = new Map<string, { pool: string; bytes: number; until: number }>();
  /** By place: the parent dataset of all machines of a prefix. */
  readonly #reserved = new Map<string, ReservationTable>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Chooses the pool with most unreserved space, the first of equals, and reserves `bytes` on it for `id`. */
  choose(id: string, bytes: number, available: ReadonlyMap<string, number>): string | undefined {
    const now = this.#clock.monotonic();
    for (const [other, { until }] of this.#assigned) if (other === id || now >= until) this.#assigned.delete(other);
    const left = [...available].map(([pool, free]) => ({ pool, left: free - this.#assignedOn(pool) }));
    const [best] = left.sort((a, b) => b.left - a.left);
    if (best) this.#assigned.set(id, { pool: best.pool, bytes, until: now + reservationMinutes * 60_000 });
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
  ): Promise<{ reserved: true } | { reserved: false; place: string; left: number }> {
    for (const [place, want] of [...wants].sort(([a], [b]) => (a < b ? -1 : 1))) {
      const answer = await this.#at(place).hold(id, want, () => ask(place), signal);
      if (answer.reserved) continue;
      this.cancel(id);
      return { ...answer, place };
    }
    return { reserved: true };
  }

  /** True when the machine has a reservation at each of these places. */
  has(id: string, places: readonly string[]): boolean {
    return places.every((place) => this.#at(place).has(id));
  }

  /** The disks were created, or never will be. */
  commit(id: string): void {
    this.#assigned.delete(id);
    for (const reservations of this.#reserved.values()) reservations.commit(id);
  }

  /** The disks are not created for now, so others may use the space. */
  cancel(id: string): void {
    for (const reservations of this.#reserved.values()) reservations.cancel(id);
  }

  close(): void {
    this.#assigned.clear();
    for (const reservations of this.#reserved.values()) reservations.close();
  }

  #at(place: string): ReservationTable {
    const known = this.#reserved.get(place) ?? new ReservationTable(this.#clock, reservationMinutes);
    this.#reserved.set(place, known);
    return known;
  }

  #assignedOn(pool: string): number {
    return [...this.#assigned.values()].reduce((sum, one) => sum + (one.pool === pool ? one.bytes : 0), 0);
  }
}
