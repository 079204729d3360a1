import type { ProviderConfig } from '../../api/provider-config.ts';
import type { Clock } from '../../lib/clock.ts';
import { LruMap } from '../../lib/lru-map.ts';

/** A little less than the resync interval of a ProviderConfig, so that each resync scans. */
const scanIntervalSeconds = 540;
/** More than all ProviderConfigs. An evicted one is scanned earlier. */
const maxScheduled = 2000;

/** When this process last scanned each ProviderConfig, so that other reconciles do not scan. */
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

  /** The result of the scan is in the status. */
  finish({ metadata }: ProviderConfig): void {
    this.#done.set(metadata.name, { at: this.#clock.monotonic(), generation: metadata.generation });
  }

  /** Makes the next reconcile scan. */
  forget({ metadata }: Pick<ProviderConfig, 'metadata'>): void {
    this.#done.delete(metadata.name);
  }
}
