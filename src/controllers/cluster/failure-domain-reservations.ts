import type { Closable } from '../../engine/connection.ts';
import type { Clock } from '../../lib/clock.ts';
import type { PlacedMachine } from './choose-failure-domain.ts';

/** Maximum delay of the cache for a new Machine. */
const reservationSeconds = 60;

interface FailureDomainReservation extends PlacedMachine {
  readonly config: string;
  readonly until: number;
}

/**
 * The failure domains that were recently chosen for Machines which the cache does not show yet. Without them, Clusters
 * that choose concurrently would all take the same domain. Held in memory only: it improves the distribution and is not
 * needed for correctness.
 */
export class FailureDomainReservations implements Closable {
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #reserved = new Map<string, FailureDomainReservation>();

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock;
  }

  reserve(machine: string, config: string, { pool, failureDomain }: PlacedMachine): void {
    this.#reserved.set(machine, {
      pool,
      failureDomain,
      config,
      until: this.#clock.monotonic() + reservationSeconds * 1000,
    });
  }

  /** The reservations of a ProviderConfig whose Machines are not in the cache yet. */
  unknown(config: string, isKnown: (machine: string) => boolean): PlacedMachine[] {
    const now = this.#clock.monotonic();
    for (const [machine, { until }] of this.#reserved)
      if (now >= until || isKnown(machine)) this.#reserved.delete(machine);
    return [...this.#reserved.values()].filter((one) => one.config === config);
  }

  close(): void {
    this.#reserved.clear();
  }
}
