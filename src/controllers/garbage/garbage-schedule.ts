import type { ProviderConfig } from '../../api/provider-config.ts';
import type { Clock } from '../../lib/clock.ts';
import { LruMap } from '../../lib/lru-map.ts';

/** How often a source of garbage is collected. */
export interface GarbageTiming {
  readonly name: string;
  readonly intervalSeconds: number;
  /** The first collection of a process is due at once, instead of after an interval. */
  readonly startsAtOnce: boolean;
  /** A change of the spec makes it due. */
  readonly followsSpec: boolean;
}

interface ScheduleEntry {
  readonly at: number;
  readonly generation: number | undefined;
  /** Requests of users until then. */
  readonly requests: number;
}

/** More than the sources in all failure domains of all ProviderConfigs. An evicted one starts like a new one. */
const maxEntries = 10_000;

/** When each source of garbage is due, by ProviderConfig and failure domain. A request makes all sources due. */
export class GarbageSchedule {
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #entries = new LruMap<string, ScheduleEntry>(maxEntries);
  /** By name of the ProviderConfig. */
  readonly #requests = new LruMap<string, number>(maxEntries);

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock;
  }

  request(name: string): void {
    this.#requests.set(name, this.#requestsFor(name) + 1);
  }

  /** `failureDomain`: undefined for a source that covers all of them together. */
  isDue(timing: GarbageTiming, config: ProviderConfig, failureDomain?: string): boolean {
    const { name, generation } = config.metadata;
    const last = this.#entries.get(entryKey(timing, config, failureDomain));
    if (!last && !timing.startsAtOnce) {
      // The first interval begins now. A request that is older than that counts.
      this.#set(timing, config, failureDomain, 0);
      return this.#requestsFor(name) > 0;
    }
    if (!last || last.requests < this.#requestsFor(name)) return true;
    if (timing.followsSpec && last.generation !== generation) return true;
    return this.#clock.monotonic() - last.at >= timing.intervalSeconds * 1000;
  }

  /** Begins the next interval. */
  finish(timing: GarbageTiming, config: ProviderConfig, failureDomain?: string): void {
    this.#set(timing, config, failureDomain, this.#requestsFor(config.metadata.name));
  }

  #set(timing: GarbageTiming, config: ProviderConfig, failureDomain: string | undefined, requests: number): void {
    const { generation } = config.metadata;
    const entry = { at: this.#clock.monotonic(), generation, requests };
    this.#entries.set(entryKey(timing, config, failureDomain), entry);
  }

  #requestsFor(name: string): number {
    return this.#requests.get(name) ?? 0;
  }
}

const entryKey = ({ name }: GarbageTiming, { metadata }: ProviderConfig, failureDomain: string | undefined): string =>
  JSON.stringify([metadata.uid ?? metadata.name, name, failureDomain]);
