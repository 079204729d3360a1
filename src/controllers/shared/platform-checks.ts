import type { ProviderConfig } from '../../api/provider-config.ts';
import { type ObjectKey, objectKeyOf } from '../../kube/resource.ts';
import type { Clock } from '../../lib/clock.ts';
import { LruMap } from '../../lib/lru-map.ts';
import type { ChosenPlatform } from './spec/choose-platform.ts';

/** The result of a check of the platform that a valid ProviderConfig names. */
export interface PlatformCheck {
  readonly chosen: ChosenPlatform;
  /** The failure domains that answered and have everything that the spec names. */
  readonly available: readonly (string | undefined)[];
}

/** Sent after each check. `isRequested`: a user has asked for this reconcile. */
export interface PlatformCheckEvent {
  readonly key: ObjectKey;
  readonly isRequested: boolean;
}

interface RecordedCheck {
  readonly check: PlatformCheck;
  readonly at: number;
  readonly generation: number | undefined;
  /** Identifies what a platform that was found in order was checked with. */
  readonly inputs?: string | undefined;
}

/** How long a platform that was found in order counts as such for another spec with the same section. */
const reuseSeconds = 600;

/** More than all ProviderConfigs. An evicted check is made again. */
const maxRecords = 2000;

/** The last platform check of each ProviderConfig, so that work after it does not repeat its calls. */
export class PlatformChecks {
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #records = new LruMap<string, RecordedCheck>(maxRecords);
  readonly #listeners = new Set<(event: PlatformCheckEvent) => void>();

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock;
  }

  /** `inputs`: given if the platform is in order. */
  record({ metadata }: ProviderConfig, check: PlatformCheck, inputs?: string): void {
    const { uid = metadata.name, generation } = metadata;
    this.#records.set(uid, { check, at: this.#clock.monotonic(), generation, inputs });
  }

  /**
   * Whether the platform was found in order with the same inputs and another spec. That check counts for the current spec
   * then. A check of the same spec again is meant as one: after a while, or because something else has changed.
   */
  reuse({ metadata }: ProviderConfig, inputs: string): boolean {
    const { uid = metadata.name, generation } = metadata;
    const found = this.#records.get(uid);
    if (!found || found.generation === generation || found.inputs !== inputs) return false;
    if (this.#clock.monotonic() - found.at >= reuseSeconds * 1000) return false;
    this.#records.set(uid, { ...found, generation });
    return true;
  }

  /** Notifies listeners that the check of a ProviderConfig is recorded and its status is written. */
  announce(config: ProviderConfig, isRequested: boolean): void {
    for (const listener of this.#listeners) listener({ key: objectKeyOf(config), isRequested });
  }

  /** The last check of this generation of the ProviderConfig, and its age. */
  latest({ metadata }: ProviderConfig): { readonly check: PlatformCheck; readonly ageSeconds: number } | undefined {
    const found = this.#records.get(metadata.uid ?? metadata.name);
    if (!found || found.generation !== metadata.generation) return undefined;
    return { check: found.check, ageSeconds: (this.#clock.monotonic() - found.at) / 1000 };
  }

  onChange(listener: (event: PlatformCheckEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}
