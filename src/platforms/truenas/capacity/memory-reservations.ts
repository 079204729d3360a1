import type { Closable } from '../../../engine/connection.ts';
import type { Clock } from '../../../lib/clock.ts';
import { ProviderError } from '../../../lib/errors.ts';
import { ReservationTable } from './reservation-table.ts';

/** A machine that has not started after this time is stuck, so its reservation expires. */
const reservationMinutes = 15;

interface SystemReservations {
  book: ReservationTable;
  /** Identity of the system; undefined until it was read. */
  id?: string;
}

/**
 * Memory reservations of this process, by URL. URLs of the same system share one table, so that ProviderConfigs with
 * different URLs do not reserve its memory twice.
 */
export class MemoryReservations implements Closable {
  readonly #clock: Clock;
  readonly #entries = new Map<string, SystemReservations>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  of(url: string): ReservationTable {
    return this.#entry(url).book;
  }

  /**
   * Merges the tables of URLs that lead to the same system, once there are several. `identify` returns a unique
   * identity, or an empty text when there is none. Each system is asked once, and only for itself, so an unreachable
   * one delays no other. Without an identity the URL counts.
   */
  async checkLimit(url: string, identify: () => Promise<string>): Promise<void> {
    const entry = this.#entry(url);
    if (this.#entries.size < 2 || entry.id !== undefined) return;
    try {
      entry.id = await identify();
    } catch (error) {
      if (error instanceof ProviderError) return;
      throw error;
    }
    const other = [...this.#entries.values()].find((one) => one !== entry && one.id === entry.id && one.id !== '');
    if (!other || other.book === entry.book) return;
    other.book.transfer(entry.book);
    entry.book = other.book;
  }

  close(): void {
    for (const { book: reservations } of this.#entries.values()) reservations.close();
    this.#entries.clear();
  }

  #entry(url: string): SystemReservations {
    const known = this.#entries.get(url) ?? { book: new ReservationTable(this.#clock, reservationMinutes) };
    this.#entries.set(url, known);
    return known;
  }
}
