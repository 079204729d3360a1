import type { ProviderConfig } from '../../api/provider-config.ts';
import type { Clock } from '../../lib/clock.ts';
import { LruMap } from '../../lib/lru-map.ts';

/** A little less than a ProviderConfig at rest is left alone, so that each of its looks is one. */
const scanIntervalSeconds = 540;
/** More than there are ProviderConfigs; one that is forgotten is looked over sooner. */
const maxScheduled = 2000;

/** When each ProviderConfig was last looked over for orphans by this process: not with every change of something else. */
export class OrphanScanSchedule {
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #done = new LruMap<string, { readonly at: number; readonly generation: number | undefined }>(maxScheduled);

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock;
  }

  isDue({ metadata }: ProviderConfig): boolean {
    const last = this.#done.get(metadata.name);
    if (!last || last.generation !== metadata.generation) return true;
    return this.#clock.monotonic() - last.at >= scanIntervalSeconds * 1000;
  }

  /** What was seen is written down. */
  finish({ metadata }: ProviderConfig): void {
    this.#done.set(metadata.name, { at: this.#clock.monotonic(), generation: metadata.generation });
  }

  /** The next look is one. */
  forget({ metadata }: Pick<ProviderConfig, 'metadata'>): void {
    this.#done.delete(metadata.name);
  }
}
