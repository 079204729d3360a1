import { annotations } from '../../../api/names.ts';
import type { ProviderConfig } from '../../../api/provider-config.ts';
import type { GarbageTiming } from '../garbage-schedule.ts';
import type { GarbageSource, GarbageVisit } from '../garbage-source.ts';
import { collectOrphans } from './collect-orphans.ts';
import { OrphanStatusWriter } from './orphan-status-writer.ts';
import type { OrphanScope } from './scan-orphans.ts';

/**
 * The interval is a little less than that of the platform checks, so that each of them leads to a scan. Its failure
 * domains are scanned together, because a copy in one may have its original in another.
 */
const timing: GarbageTiming = { name: 'orphans', intervalSeconds: 540, startsAtOnce: true, followsSpec: true };
/** Time until the next scan while a failure domain that has just answered its check does not answer. */
const unreachableRetrySeconds = 30;

/**
 * Resources with our mark whose Machine does not exist. They are listed in the status, and removed step by step after
 * the grace period or on request.
 */
export const orphanSource: GarbageSource = { collect };

async function collect(visit: GarbageVisit): Promise<number | undefined> {
  const { services, schedule, config, unavailable, signal } = visit;
  const scopes = visit.scopes.flatMap(({ platform, garbage: { orphans }, check }): OrphanScope[] =>
    orphans ? [{ platform, orphans, check }] : [],
  );
  // Nothing may be concluded from an incomplete cache.
  if (scopes.length === 0 || !services.stores.machines.isSynced) return undefined;
  if (!schedule.isDue(timing, config) && !hasPendingRemoval(config)) return undefined;
  const writer = new OrphanStatusWriter(services, config, signal);
  const report = await collectOrphans(services, writer, scopes, { away: unavailable, signal });
  await writer.report(report.listed, report.search);
  if (report.isDone) schedule.finish(timing, config);
  const isUnreachable = !report.isDone && report.search.result !== 'PlatformRejected';
  const waits = [report.requeueAfterSeconds, isUnreachable ? unreachableRetrySeconds : undefined];
  return waits.filter((seconds) => seconds !== undefined).sort((a, b) => a - b)[0];
}

/** A removal is requested or in progress. */
const hasPendingRemoval = ({ metadata, status }: ProviderConfig): boolean =>
  metadata.annotations?.[annotations.removeOrphans] !== undefined ||
  (status?.orphans?.some(({ removal }) => removal) ?? false);
