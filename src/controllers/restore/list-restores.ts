import type { ProviderInstance } from '../../api/names.ts';
import { isOwnCluster } from '../cluster/cluster-responsibility.ts';
import { findProviderConfig } from '../cluster/view.ts';
import { clusterReports } from '../shared/cluster-report.ts';
import type { Services } from '../shared/services.ts';

/** The restore of a Cluster for metrics. */
export interface ListedRestore {
  /** Name of the ProviderConfig. */
  readonly config: string;
  readonly state: 'waiting' | 'running' | 'failed' | 'completed';
}

/** The Clusters of this instance whose etcd was restored, or is to be, from the caches. */
export const listRestores = (services: ProviderInstance & Pick<Services, 'stores'>): ListedRestore[] =>
  services.stores.clusters.list().flatMap((cluster) => {
    const found = cluster.status?.conditions?.find(({ type }) => type === clusterReports.restore.condition);
    const config = found && isOwnCluster(services, cluster) ? findProviderConfig(services, cluster) : undefined;
    if (!found || !config) return [];
    return [{ config: config.metadata.name, state: stateOf(found.status, found.reason) }];
  });

function stateOf(status: string, reason: string): ListedRestore['state'] {
  if (status === 'True') return 'completed';
  if (reason === 'RestoreFailed') return 'failed';
  return reason === 'Restoring' ? 'running' : 'waiting';
}
