import { instanceFinalizers } from '../../api/names.ts';
import { ProviderConfig } from '../../api/provider-config.ts';
import type { KeySource, ReconcileContext, ReconcileResult } from '../../kube/controller/controller.ts';
import type { ObjectKey } from '../../kube/resource.ts';
import type { Clock } from '../../lib/clock.ts';
import { isOwnConfig } from '../cluster/view.ts';
import { checkPlatform, createPlatformContexts } from '../provider-config/check-platform.ts';
import { hasIgnoreOperation } from '../shared/objects.ts';
import type { PlatformCheck, PlatformChecks } from '../shared/platform-checks.ts';
import type { Services } from '../shared/services.ts';
import { latestVersion } from '../shared/status-writes.ts';
import { GarbageSchedule } from './garbage-schedule.ts';
import type { GarbageSource, GarbageVisit } from './garbage-source.ts';
import { orphanSource } from './orphans/orphan-source.ts';
import { createRetainedResourceSource } from './retained-resources.ts';
import { sharedResourceSource } from './shared-resources.ts';

/** What the garbage controller knows between its reconciles. */
export interface GarbageCollection {
  readonly checks: PlatformChecks;
  readonly schedule: GarbageSchedule;
  readonly sources: readonly GarbageSource[];
}

/** An older check is made again: a failure domain may be gone, or lead to another system. */
const maxCheckAgeSeconds = 60;

export const createGarbageCollection = (clock: Clock, checks: PlatformChecks): GarbageCollection => ({
  checks,
  schedule: new GarbageSchedule(clock),
  sources: [orphanSource, sharedResourceSource, createRetainedResourceSource(clock)],
});

/** The platform checks lead to a visit. They are the clock of the collection: garbage is only looked for after one. */
export const garbageKeySource = ({ checks, schedule }: GarbageCollection): KeySource => ({
  synced: Promise.resolve(),
  subscribe: (enqueue) =>
    checks.onChange(({ key, isRequested }) => {
      if (isRequested) schedule.request(key.name);
      enqueue(key, isRequested ? 'high' : 'low');
    }),
});

/**
 * Collects the garbage of one ProviderConfig, source by source. An error of one source is thrown only after the others
 * had their turn.
 */
export async function reconcileGarbage(
  services: Services,
  collection: GarbageCollection,
  key: ObjectKey,
  context: ReconcileContext,
): Promise<ReconcileResult> {
  const { signal } = context;
  const cached = services.stores.providerConfigs.get(key);
  if (!cached) return {};
  const config = await latestVersion(services.kube, ProviderConfig, cached, signal);
  if (!isServed(services, config)) return {};
  const visit = await prepareVisit(services, collection, config, context);
  if (!visit) return {};
  const waits: number[] = [];
  const errors: unknown[] = [];
  for (const source of collection.sources) {
    try {
      const seconds = await source.collect(visit);
      if (seconds !== undefined) waits.push(seconds);
    } catch (error) {
      signal.throwIfAborted();
      errors.push(error);
    }
  }
  if (errors.length > 0) throw errors[0];
  return waits.length > 0 ? { requeueAfterSeconds: Math.min(...waits) } : {};
}

/** A ProviderConfig of this instance that is neither deleted nor excluded from reconciling. */
function isServed(services: Services, config: ProviderConfig): boolean {
  const { finalizers = [], deletionTimestamp } = config.metadata;
  if (!isOwnConfig(services, config) || hasIgnoreOperation(config)) return false;
  return finalizers.includes(instanceFinalizers(services).providerConfig) && deletionTimestamp === undefined;
}

/** Undefined: the spec is not valid, or its platform has not been checked yet, or has no garbage. */
async function prepareVisit(
  services: Services,
  { checks, schedule }: GarbageCollection,
  config: ProviderConfig,
  context: ReconcileContext,
): Promise<GarbageVisit | undefined> {
  const check = await recentCheck(services, checks, config, context);
  const { platform } = check?.chosen ?? {};
  if (!check || !platform?.garbage) return undefined;
  const { garbage, name } = platform;
  const { contexts } = createPlatformContexts(services, check.chosen, context);
  const scopes = check.available.flatMap((failureDomain) => {
    const found = contexts.get(failureDomain);
    return found ? [{ platform: name, garbage, check: found }] : [];
  });
  const isScope = (failureDomain: string) => scopes.some((scope) => scope.check.failureDomain === failureDomain);
  const unavailable = platform.failureDomains.names(check.chosen.config).filter((one) => !isScope(one));
  return { services, schedule, config, scopes, unavailable, ...context };
}

async function recentCheck(
  services: Services,
  checks: PlatformChecks,
  config: ProviderConfig,
  context: ReconcileContext,
): Promise<PlatformCheck | undefined> {
  const known = checks.latest(config);
  if (!known || known.ageSeconds <= maxCheckAgeSeconds) return known?.check;
  const { check } = await checkPlatform(services, known.check.chosen, context);
  checks.record(config, check);
  return check;
}
