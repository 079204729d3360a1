import type { Closable } from '../../../engine/connection.ts';
import type { Clock } from '../../../lib/clock.ts';
import { waitOrAbort } from '../../../lib/deadline.ts';

/** Maximum age of the available amount: many machines that wait for it cost one call. */
const availabilityMaxAgeSeconds = 15;

/** The amount that a machine is about to use, in bytes. */
export interface ReservationRequest {
  readonly takes: number;
  /** Further bytes that have to be free during the allocation, and stay free afterwards. Default: 0. */
  readonly spare?: number;
}

interface Reservation extends Required<ReservationRequest> {
  readonly until: number;
}

/** The amount that was available when the system was asked, less the reservations. */
interface Availability {
  readonly at: number;
  readonly budget: Promise<{ left: number }>;
}

/**
 * Reservations of one resource of a system for machines of this process: its memory, or the disk space at one place.
 * TrueNAS counts only what is in use, so twenty machines that ask at once would all see the same amount. The table does
 * not survive the process: after a restart machines ask again.
 */
export class ReservationTable implements Closable {
  readonly #clock: Clock;
  readonly #holdMinutes: number;
  readonly #holds = new Map<string, Reservation>();
  #read: Availability | undefined;

  /** `holdMinutes`: a machine that does not use its reservation for this time is stuck, and the reservation expires. */
  constructor(clock: Clock, holdMinutes: number) {
    this.#clock = clock;
    this.#holdMinutes = holdMinutes;
  }

  /**
   * Reserves bytes for a machine, or returns how many are available. An existing reservation is extended. Reservations
   * may be used in any order: the spare bytes of one are never reserved for another. `ask` returns the amount that the
   * system can provide now. It must have its own timeout, because others may wait for it when this caller has gone.
   */
  async hold(
    id: string,
    want: ReservationRequest,
    ask: () => Promise<number>,
    signal: AbortSignal,
  ): Promise<{ reserved: true } | { reserved: false; left: number }> {
    const { takes, spare: unassigned = 0 } = want;
    if ((this.#current(id)?.takes ?? 0) >= takes) {
      this.#note(id, want);
      return { reserved: true };
    }
    for (;;) {
      const availability = this.#readFor(ask);
      const budget = await waitOrAbort(availability.budget, signal);
      // A newer query has started, whose amount would not include this reservation.
      if (this.#read !== availability) continue;
      const kept = Math.max(unassigned, ...[...this.#holds].map(([other, hold]) => (other === id ? 0 : hold.spare)));
      if (takes + kept > budget.left) return { reserved: false, left: budget.left };
      budget.left -= takes;
      this.#note(id, want);
      return { reserved: true };
    }
  }

  /** True when the machine has a reservation. */
  has(id: string): boolean {
    return this.#current(id) !== undefined;
  }

  /** Adopts the reservations of another table: both are of the same system. */
  transfer(other: ReservationTable): void {
    for (const [id, hold] of other.#holds) if (!this.#holds.has(id)) this.#holds.set(id, hold);
    this.#read = undefined;
  }

  /** The machine uses its reservation: the system itself counts it from now on. */
  commit(id: string): void {
    this.#holds.delete(id);
  }

  /** The machine does not use its reservation for now, so it is free for others. */
  cancel(id: string): void {
    if (this.#holds.delete(id)) this.#read = undefined;
  }

  /** What is available has changed, by a machine that was switched off for example: it is asked for again. */
  outdate(): void {
    this.#read = undefined;
  }

  close(): void {
    this.#holds.clear();
  }

  #note(id: string, { takes, spare: unassigned = 0 }: ReservationRequest): void {
    this.#holds.set(id, { takes, spare: unassigned, until: this.#clock.monotonic() + this.#holdMinutes * 60_000 });
  }

  #readFor(ask: () => Promise<number>): Availability {
    const at = this.#clock.monotonic();
    if (this.#read && at - this.#read.at < availabilityMaxAgeSeconds * 1000) return this.#read;
    // Resources that a machine takes into use during the query may count twice until the next one, but always count.
    const reserved = [...this.#holds.values()].reduce((sum, { takes }) => sum + takes, 0);
    const availability: Availability = { at, budget: ask().then((available) => ({ left: available - reserved })) };
    this.#read = availability;
    availability.budget.catch(() => {
      if (this.#read === availability) this.#read = undefined;
    });
    return availability;
  }

  #current(id: string): Reservation | undefined {
    const now = this.#clock.monotonic();
    for (const [other, { until }] of this.#holds) if (now >= until) this.#holds.delete(other);
    return this.#holds.get(id);
  }
}
