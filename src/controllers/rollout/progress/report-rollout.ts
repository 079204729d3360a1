import { isDeepStrictEqual } from 'node:util';
import type { Machine } from '../../../api/machine.ts';
import { instanceFinalizers } from '../../../api/names.ts';
import { ProviderConfig } from '../../../api/provider-config.ts';
import type { ReconcileContext, ReconcileResult } from '../../../kube/controller/controller.ts';
import type { ObjectKey } from '../../../kube/resource.ts';
import { isOwnConfig, revisionOf } from '../../cluster/view.ts';
import { hasIgnoreOperation } from '../../shared/objects.ts';
import type { Services } from '../../shared/services.ts';
import { latestVersion, recordWrite } from '../../shared/status-writes.ts';
import { hasFailed } from '../machine-change.ts';
import { removeRolloutRequest, retryUpdates } from '../policy/retry-updates.ts';
import { readRolloutRequest } from '../policy/rollout-hold.ts';
import { machinesOfConfig, summarizeConfig } from './list-rollouts.ts';
import type { RolloutSummary } from './summarize-rollout.ts';

/**
 * Writes to a ProviderConfig how far its clusters have followed it, and carries out the annotation `rollout`. The clusters
 * themselves read neither: they decide from the Machines.
 */
export async function reportRollout(
  services: Services,
  key: ObjectKey,
  { signal }: ReconcileContext,
): Promise<ReconcileResult> {
  const cached = services.stores.providerConfigs.get(key);
  if (!cached) return {};
  const config = await latestVersion(services.kube, ProviderConfig, cached, signal);
  // Without a status it was not assessed yet, which triggers this again.
  if (!isServed(services, config) || !config.status) return {};
  const machines = machinesOfConfig(services, config.metadata.name);
  const summary = summarizeConfig(services, config, machines);
  await endRequest(services, config, { machines, summary, signal });
  const rollout = describeRollout(services, config, summary);
  if (!rollout || isDeepStrictEqual(config.status.rollout, rollout)) return {};
  await recordWrite(services.kube, ProviderConfig, config, () =>
    services.kube.merge(ProviderConfig, key, { status: { rollout } }, { subresource: 'status' }, signal),
  );
  return {};
}

/** A ProviderConfig of this instance that is neither deleted nor excluded from reconciling. */
function isServed(services: Services, config: ProviderConfig): boolean {
  const { finalizers = [], deletionTimestamp } = config.metadata;
  if (!isOwnConfig(services, config) || hasIgnoreOperation(config)) return false;
  return finalizers.includes(instanceFinalizers(services).providerConfig) && deletionTimestamp === undefined;
}

/** Removes `retry` when the failed updates begin again, and `now` when no change waits any more. */
async function endRequest(
  services: Services,
  config: ProviderConfig,
  given: { readonly machines: readonly Machine[]; readonly summary: RolloutSummary; readonly signal: AbortSignal },
): Promise<void> {
  const { machines, summary, signal } = given;
  const request = readRolloutRequest(config);
  if (request === 'retry') {
    const failed = machines.filter(hasFailed);
    await retryUpdates(services, failed, signal);
    if (failed.length > 0) {
      const names = failed.slice(0, 10).map(({ metadata }) => metadata.name);
      services.events.record(config, 'Normal', 'UpdateRetried', `Begins again: ${names.join(', ')}.`);
    }
  }
  const isFulfilled = request === 'retry' || (request === 'now' && summary.isSettled && summary.total > 0);
  if (isFulfilled) await removeRolloutRequest(services, ProviderConfig, config, signal);
}

/** Undefined: there is nothing to report, neither now nor before. */
function describeRollout(
  services: Services,
  config: ProviderConfig,
  { total, updated, updating, failed }: RolloutSummary,
): NonNullable<ProviderConfig['status']>['rollout'] {
  const revision = revisionOf(services, config);
  if (revision === undefined || (total === 0 && !config.status?.rollout)) return config.status?.rollout;
  return { revision, total, updated, updating, failed };
}
