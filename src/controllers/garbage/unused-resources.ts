import type { GarbageContext } from '../../engine/capabilities/garbage.ts';
import { ProviderError } from '../../lib/errors.ts';
import type { GarbageTiming } from './garbage-schedule.ts';
import { type GarbageScope, type GarbageSource, type GarbageVisit, gracePeriodSeconds } from './garbage-source.ts';

/** A resource that may be unused. */
export interface UnusedCandidate {
  /** `unknown`: it could not be found out, so nothing is changed. */
  readonly use: 'used' | 'unused' | 'unknown';
  /** Since when it has been unused, as recorded. */
  readonly unusedSince: Date | undefined;
  recordUnusedSince(since: Date | undefined): Promise<void>;
  /** Checks again whether it is unused, and removes it. Returns a sentence, or undefined when it stays. */
  remove(): Promise<string | undefined>;
}

interface UnusedResources {
  readonly name: string;
  list(visit: GarbageVisit, scope: GarbageScope): Promise<readonly UnusedCandidate[]>;
}

const intervalSeconds = 3600;

/**
 * A source of resources that are removed when they have been unused for the grace period: looked at every hour in each
 * failure domain, for the first time an hour after the process has started. One that fails does not affect the others.
 */
export function createUnusedResourceSource({ name, list }: UnusedResources): GarbageSource {
  const timing: GarbageTiming = { name, intervalSeconds, startsAtOnce: false, followsSpec: false };
  return {
    collect: async (visit) => {
      const { schedule, config } = visit;
      const due = visit.scopes.filter(({ check }) => schedule.isDue(timing, config, check.failureDomain));
      const results = await Promise.allSettled(
        due.map(async (scope) => {
          schedule.finish(timing, config, scope.check.failureDomain);
          await collectInScope(visit, scope, { name, list });
        }),
      );
      for (const result of results) if (result.status === 'rejected') throw result.reason;
      return undefined;
    },
  };
}

async function collectInScope(visit: GarbageVisit, scope: GarbageScope, { name, list }: UnusedResources) {
  const { services, config, signal, log } = visit;
  try {
    for (const candidate of await list(visit, scope)) {
      const removed = await collectCandidate(candidate, services.clock.now());
      if (removed) services.events.record(config, 'Normal', 'GarbageCollected', removed);
    }
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof ProviderError) || error.retry === 'bug') throw error;
    const { failureDomain } = scope.check;
    log.warn({ code: error.code, failureDomain, source: name }, 'garbage collection failed and is retried in an hour');
  }
}

/** Removes a candidate that has been unused for the grace period. The first time that it is unused is recorded. */
export async function collectCandidate(candidate: UnusedCandidate, now: Date): Promise<string | undefined> {
  const { use, unusedSince } = candidate;
  if (use === 'unknown') return undefined;
  if (use === 'used') {
    if (unusedSince) await candidate.recordUnusedSince(undefined);
    return undefined;
  }
  // A date in the future was written with a wrong clock.
  if (!unusedSince || unusedSince > now) {
    await candidate.recordUnusedSince(now);
    return undefined;
  }
  if (now.getTime() - unusedSince.getTime() < gracePeriodSeconds * 1000) return undefined;
  return await candidate.remove();
}

/** The context in which a platform looks for garbage. */
export const garbageContextOf = (
  { services: { installation, provider } }: Pick<GarbageVisit, 'services'>,
  { check }: GarbageScope,
): GarbageContext => ({ ...check, instance: { installation, provider } });
