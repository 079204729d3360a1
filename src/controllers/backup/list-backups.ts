import type { ProviderInstance } from '../../api/names.ts';
import { isOwnCluster } from '../cluster/cluster-responsibility.ts';
import { findProviderConfig } from '../cluster/view.ts';
import type { Services } from '../shared/services.ts';
import { type BackupRecord, readBackupRecord } from './backup-record.ts';

/** The backups of a Cluster for metrics. */
export interface ListedBackups extends Pick<BackupRecord, 'lastSuccess' | 'bytes' | 'seconds' | 'failures'> {
  readonly namespace: string;
  readonly cluster: string;
}

/** The Clusters of this instance that are backed up, from the caches. */
export const listBackups = (services: ProviderInstance & Pick<Services, 'stores'>): ListedBackups[] =>
  services.stores.clusters
    .list()
    .filter((cluster) => isOwnCluster(services, cluster))
    .filter((cluster) => findProviderConfig(services, cluster)?.spec.backup !== undefined)
    .map((cluster) => {
      const { namespace = '', name } = cluster.metadata;
      const { lastSuccess, bytes, seconds, failures } = readBackupRecord(cluster);
      return { namespace, cluster: name, lastSuccess, bytes, seconds, failures };
    });
