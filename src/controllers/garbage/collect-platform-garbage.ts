import type { ProviderConfig } from '../../api/provider-config.ts';
import type { InFailureDomain } from '../../engine/capabilities/failure-domains.ts';
import type { Closable } from '../../engine/connection.ts';
import type { PlatformContext } from '../../engine/contexts.ts';
import type { Platform } from '../../engine/platform.ts';
import type { Clock } from '../../lib/clock.ts';
import { ProviderError } from '../../lib/errors.ts';
import { LruMap } from '../../lib/lru-map.ts';
import type { Services } from '../shared/services.ts';
import { findResourcesInUse } from './resources-in-use.ts';
import { findRetainedResources } from './retained-resources.ts';

/** A failure domain of a ProviderConfig in which the platform can collect garbage. */
export interface GarbageScope {
  readonly tidy: NonNullable<Platform['tidy']>;
  readonly check: PlatformContext & InFailureDomain;
}

const collectionIntervalSeconds = 3600;
/** More than the failure domains of all ProviderConfigs. An evicted entry is due an hour later. */
const maxScheduled = 2000;

/**
 * When each failure domain of a ProviderConfig is due: an hour after its first observation by this process, every hour
 * after that, and on request. An unreachable failure domain is due as soon as it is reachable.
 */
class CollectionSchedule implements Closable {
  readonly #last = new LruMap<string, { readonly at: number; readonly asked: number }>(maxScheduled);
  readonly #asked = new LruMap<string, number>(maxScheduled);

  /** Makes all failure domains of a ProviderConfig due. */
  ask(name: string): void {
    this.#asked.set(name, this.#askedOf(name) + 1);
  }

  isDue(name: string, site: string | undefined, clock: Pick<Clock, 'monotonic'>): boolean {
    const now = clock.monotonic();
    const key = `${name}/${site ?? ''}`;
    const asked = this.#askedOf(name);
    const last = this.#last.get(key);
    const isDue = last ? now - last.at >= collectionIntervalSeconds * 1000 || last.asked < asked : asked > 0;
    if (isDue || !last) this.#last.set(key, { at: now, asked });
    return isDue;
  }

  close(): void {
    this.#last.clear();
    this.#asked.clear();
  }

  #askedOf(name: string): number {
    return this.#asked.get(name) ?? 0;
  }
}

const collectionScheduleOf = ({ connections }: Services): CollectionSchedule =>
  connections.get('tidy-hours', () => new CollectionSchedule());

/** Requests garbage collection in the next reconcile that reaches it. */
export const requestGarbageCollection = (services: Services, { metadata }: ProviderConfig): void =>
  collectionScheduleOf(services).ask(metadata.name);

/**
 * Removes resources that nothing uses. An error does not affect the reconcile; the collection is retried after an hour.
 */
export async function collectPlatformGarbage(
  services: Services,
  config: ProviderConfig,
  places: readonly GarbageScope[],
): Promise<void> {
  const { installation, provider, clock } = services;
  const hours = collectionScheduleOf(services);
  for (const { tidy, check } of places.filter((one) => hours.isDue(config.metadata.name, one.check.site, clock))) {
    const needed = () => findResourcesInUse(services, check.signal);
    const keepsakes = () => findRetainedResources(services, check.signal);
    try {
      for (const sentence of await tidy({ ...check, ours: { installation, provider }, needed, keepsakes })) {
        services.events.record(config, 'Normal', 'Tidied', sentence);
      }
    } catch (error) {
      check.signal.throwIfAborted();
      if (!(error instanceof ProviderError) || error.retry === 'bug') throw error;
      check.log.warn({ code: error.code, site: check.site }, 'could not tidy up, is tried again in an hour');
    }
  }
}
