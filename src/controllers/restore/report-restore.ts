import { type ConditionState, conditionTrue } from '../../api/conditions.ts';
import type { Cluster } from '../../api/openmcp/types.ts';
import { formatTime } from '../../lib/text.ts';
import { clusterReports, writeClusterReport } from '../shared/cluster-report.ts';
import type { RestoreRecord } from '../shared/secrets/restore-record.ts';
import type { Services } from '../shared/services.ts';

/** Writes the condition `EtcdRestored`; without one it is removed. What is known of the last restore stays. */
export async function reportRestore(
  services: Services,
  cluster: Cluster,
  condition: ConditionState | undefined,
  signal: AbortSignal,
): Promise<void> {
  const last = cluster.status?.providerStatus?.[clusterReports.restore.field];
  const record = typeof last === 'object' && last !== null ? last : undefined;
  await writeClusterReport(services, cluster, clusterReports.restore, { condition, record }, signal);
}

/** Reports the last restore, from its record: another writer of the status may have put back what it knew. */
export async function reportCompleted(
  services: Services,
  cluster: Cluster,
  { key, time, startedAt, completedAt }: RestoreRecord,
  signal: AbortSignal,
): Promise<void> {
  if (completedAt === undefined) return;
  const message = `Etcd was restored at ${formatTime(new Date(completedAt))} from ${key}, the backup of ${formatTime(new Date(time))}.`;
  const condition = conditionTrue('EtcdRestored', message);
  const record = { key, startedAt, completedAt };
  await writeClusterReport(services, cluster, clusterReports.restore, { condition, record }, signal);
}
