import { isConditionTrue } from '../../api/conditions.ts';
import { type Cluster, openmcpPhases } from '../../api/openmcp/types.ts';
import type { Log } from '../../lib/log.ts';
import { decideConditionEvents, recordConditionEvents } from '../shared/condition-events.ts';
import type { Services } from '../shared/services.ts';
import type { ClusterView } from './view.ts';

/** Conditions whose changes are Events. Backups and restores are reported by their controllers. */
const announcedConditions = [
  'Ready',
  'UpToDate',
  'EtcdHasSpace',
  'NodesHealthy',
  'CertificateAuthoritiesRotated',
] as const;

/** Records Events and log lines for changes of a Cluster: `view` has the previous object, `now` is the written status. */
export function recordClusterEvents(
  { events }: Pick<Services, 'events'>,
  { cluster, endpoint }: Pick<ClusterView, 'cluster' | 'endpoint'>,
  now: NonNullable<Cluster['status']>,
  log: Log,
): void {
  // Its deletion was requested, so the loss of its conditions is expected.
  if (cluster.metadata.deletionTimestamp) return;
  const { conditions: before, phase } = cluster.status ?? {};
  // That it is ready is an Event with its endpoint.
  recordConditionEvents(events, cluster, decideConditionEvents(announcedConditions, before, now.conditions), ['Ready']);
  const ready = now.conditions?.find(({ type }) => type === 'Ready');
  if (isConditionTrue(before, 'Ready') && ready?.status !== 'True')
    log.warn({ reason: ready?.reason, why: ready?.message }, 'cluster is not ready any more');
  if (now.phase === openmcpPhases.ready && phase !== openmcpPhases.ready) {
    events.record(cluster, 'Normal', 'Ready', `The cluster is reachable at ${endpoint?.url}.`);
    log.info({ endpoint: endpoint?.url, version: now.providerStatus?.['kubernetesVersion'] }, 'cluster is ready');
  }
}
