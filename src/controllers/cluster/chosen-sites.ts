import type { Closable } from '../../engine/platform.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Placed } from './choose-site.ts';

/** So long a cache may take to learn of a Machine that was just made. */
const holdSeconds = 60;

interface Choice extends Placed {
  readonly config: string;
  readonly until: number;
}

/**
 * The places that were just chosen for Machines which the cache does not show yet: Clusters that choose at the same time would all see
 * the same place as the emptiest. It outlives no process; it only makes a choice better.
 */
export class ChosenSites implements Closable {
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #chosen = new Map<string, Choice>();

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock;
  }

  note(machine: string, config: string, { pool, site }: Placed): void {
    this.#chosen.set(machine, { pool, site, config, until: this.#clock.monotonic() + holdSeconds * 1000 });
  }

  /** Those of a ProviderConfig whose Machines are not known yet. */
  unknown(config: string, isKnown: (machine: string) => boolean): Placed[] {
    const now = this.#clock.monotonic();
    for (const [machine, { until }] of this.#chosen) if (now >= until || isKnown(machine)) this.#chosen.delete(machine);
    return [...this.#chosen.values()].filter((one) => one.config === config);
  }

  close(): void {
    this.#chosen.clear();
  }
}
