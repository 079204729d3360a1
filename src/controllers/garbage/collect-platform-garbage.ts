import type { ProviderConfig } from '../../api/provider-config.ts';
import type { InFailureDomain } from '../../engine/capabilities/failure-domains.ts';
import type { GarbageCapability } from '../../engine/capabilities/garbage.ts';
import type { Closable } from '../../engine/connection.ts';
import type { PlatformContext } from '../../engine/contexts.ts';
import type { Clock } from '../../lib/clock.ts';
import { ProviderError } from '../../lib/errors.ts';
import { LruMap } from '../../lib/lru-map.ts';
import type { Services } from '../shared/services.ts';
import { findResourcesInUse } from './resources-in-use.ts';
import { findRetainedResources } from './retained-resources.ts';

/** A failure domain of a ProviderConfig in which the platform can collect garbage. */
export interface GarbageScope {
  readonly collect: NonNullable<GarbageCapability['collect']>;
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
  readonly #last = new LruMap<string, { readonly at: number; readonly requested: number }>(maxScheduled);
  readonly #requested = new LruMap<string, number>(maxScheduled);

  /** Makes all failure domains of a ProviderConfig due. */
  request(name: string): void {
    this.#requested.set(name, this.#requestedFor(name) + 1);
  }

  isDue(name: string, failureDomain: string | undefined, clock: Pick<Clock, 'monotonic'>): boolean {
    const now = clock.monotonic();
    const key = `${name}/${failureDomain ?? ''}`;
    const requested = this.#requestedFor(name);
    const last = this.#last.get(key);
    const isDue = last
      ? now - last.at >= collectionIntervalSeconds * 1000 || last.requested < requested
      : requested > 0;
    if (isDue || !last) this.#last.set(key, { at: now, requested });
    return isDue;
  }

  close(): void {
    this.#last.clear();
    this.#requested.clear();
  }

  #requestedFor(name: string): number {
    return this.#requested.get(name) ?? 0;
  }
}

const collectionScheduleOf = ({ connections }: Services): CollectionSchedule =>
  connections.get('tidy-hours', () => new CollectionSchedule());

/** Requests garbage collection in the next reconcile that reaches it. */
export const requestGarbageCollection = (services: Services, { metadata }: ProviderConfig): void =>
  collectionScheduleOf(services).request(metadata.name);

/**
 * Removes resources that nothing uses. An error does not affect the reconcile; the collection is retried after an hour.
 */
export async function collectPlatformGarbage(
  services: Services,
  config: ProviderConfig,
  places: readonly GarbageScope[],
): Promise<void> {
  const { installation, provider, clock } = services;
  const schedule = collectionScheduleOf(services);
  for (const { collect, check } of places.filter((one) =>
    schedule.isDue(config.metadata.name, one.check.failureDomain, clock),
  )) {
    const needed = () => findResourcesInUse(services, check.signal);
    const keepsakes = () => findRetainedResources(services, check.signal);
    try {
      for (const sentence of await collect({
        ...check,
        instance: { installation, provider },
        inUse: needed,
        retained: keepsakes,
      })) {
        services.events.record(config, 'Normal', 'Tidied', sentence);
      }
    } catch (error) {
      check.signal.throwIfAborted();
      if (!(error instanceof ProviderError) || error.retry === 'bug') throw error;
      check.log.warn(
        { code: error.code, failureDomain: check.failureDomain },
        'could not tidy up, is tried again in an hour',
      );
    }
  }
}
