import type { ConditionState } from '../../api/conditions.ts';
import type { Cluster } from '../../api/openmcp/types.ts';
import { clusterReports, writeClusterReport } from '../shared/cluster-report.ts';
import type { Services } from '../shared/services.ts';

/** The last restore of a cluster, in `status.providerStatus`. */
export interface RestoreReport {
  /** Key of the snapshot. */
  readonly key: string;
  readonly startedAt: string;
  readonly completedAt: string;
}

/** Writes the condition `EtcdRestored`; without one it is removed. What is known of the last restore stays. */
export async function reportRestore(
  services: Services,
  cluster: Cluster,
  condition: ConditionState | undefined,
  signal: AbortSignal,
  report?: RestoreReport,
): Promise<void> {
  const last = cluster.status?.providerStatus?.[clusterReports.restore.field];
  const record = report ?? (typeof last === 'object' && last !== null ? last : undefined);
  await writeClusterReport(services, cluster, clusterReports.restore, { condition, record }, signal);
}
