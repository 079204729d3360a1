import type { Closable } from '../../engine/platform.ts';
import type { Clock } from '../../lib/clock.ts';
import type { PlacedMachine } from './choose-failure-domain.ts';

/** So long a cache may take to learn of a Machine that was just made. */
const reservationSeconds = 60;

interface FailureDomainReservation extends PlacedMachine {
  readonly config: string;
  readonly until: number;
}

/**
 * The places that were just chosen for Machines which the cache does not show yet: Clusters that choose at the same time would all see
 * the same place as the emptiest. It outlives no process; it only makes a choice better.
 */
export class FailureDomainReservations implements Closable {
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #chosen = new Map<string, FailureDomainReservation>();

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock;
  }

  note(machine: string, config: string, { pool, site }: PlacedMachine): void {
    this.#chosen.set(machine, { pool, site, config, until: this.#clock.monotonic() + reservationSeconds * 1000 });
  }

  /** Those of a ProviderConfig whose Machines are not known yet. */
  unknown(config: string, isKnown: (machine: string) => boolean): PlacedMachine[] {
    const now = this.#clock.monotonic();
    for (const [machine, { until }] of this.#chosen) if (now >= until || isKnown(machine)) this.#chosen.delete(machine);
    return [...this.#chosen.values()].filter((one) => one.config === config);
  }

  close(): void {
    this.#chosen.clear();
  }
}
