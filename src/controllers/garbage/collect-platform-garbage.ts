import type { ProviderConfig } from '../../api/provider-config.ts';
import type { InFailureDomain } from '../../engine/capabilities/failure-domains.ts';
import type { Closable, Platform, PlatformContext } from '../../engine/platform.ts';
import type { Clock } from '../../lib/clock.ts';
import { ProviderError } from '../../lib/errors.ts';
import { LruMap } from '../../lib/lru-map.ts';
import type { Services } from '../shared/services.ts';
import { findResourcesInUse } from './resources-in-use.ts';
import { findRetainedResources } from './retained-resources.ts';

/** Where and with what there is something to tidy up: one for each place of a ProviderConfig. */
export interface GarbageScope {
  readonly tidy: NonNullable<Platform['tidy']>;
  readonly check: PlatformContext & InFailureDomain;
}

const collectionIntervalSeconds = 3600;
/** More than all ProviderConfigs have; one that is forgotten is due an hour later. */
const maxScheduled = 2000;

/**
 * When each place of a ProviderConfig is due: an hour after this process has first seen it, then each hour, and when somebody asks. One
 * that cannot be looked at just then is due when it can.
 */
class CollectionSchedule implements Closable {
  readonly #last = new LruMap<string, { readonly at: number; readonly asked: number }>(maxScheduled);
  readonly #asked = new LruMap<string, number>(maxScheduled);

  /** All places are due as soon as they can be looked at. */
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

/** Somebody asks for it: the next reconcile that gets so far does not wait for its hour. */
export const requestGarbageCollection = (services: Services, { metadata }: ProviderConfig): void =>
  collectionScheduleOf(services).ask(metadata.name);

/** Has removed what nobody needs any more. What goes wrong is in nobody's way and is tried again in an hour. */
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
