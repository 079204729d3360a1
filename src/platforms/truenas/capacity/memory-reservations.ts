import type { Closable } from '../../../engine/platform.ts';
import type { Clock } from '../../../lib/clock.ts';
import { ProviderError } from '../../../lib/errors.ts';
import { ReservationTable } from './reservation-table.ts';

/** A machine that has not been started after so long has other troubles. Others may have its memory meanwhile. */
const reservationMinutes = 15;

interface SystemReservations {
  book: ReservationTable;
  /** What the system says of itself; undefined until it was asked. */
  id?: string;
}

/**
 * The memory books of this process, by URL: and one for several that lead to the same system, so that ProviderConfigs which name it
 * differently do not promise its memory twice.
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
   * Finds out whether another URL leads to the same system, once there is another. `identify`: by what nobody else has; empty when
   * that cannot be told. A system is asked once, and only for itself: one that is away delays no other. Where it does not tell, its URL
   * counts.
   */
  async meet(url: string, identify: () => Promise<string>): Promise<void> {
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
    other.book.takeOver(entry.book);
    entry.book = other.book;
  }

  close(): void {
    for (const { book } of this.#entries.values()) book.close();
    this.#entries.clear();
  }

  #entry(url: string): SystemReservations {
    const known = this.#entries.get(url) ?? { book: new ReservationTable(this.#clock, reservationMinutes) };
    this.#entries.set(url, known);
    return known;
  }
}
