import type { ProviderInstance } from '../../api/names.ts';
import { isOwnCluster } from '../cluster/cluster-responsibility.ts';
import { findProviderConfig } from '../cluster/view.ts';
import type { Services } from '../shared/services.ts';
import { type BackupRecord, readBackupRecord } from './backup-record.ts';

/** The backups of a Cluster for metrics. */
export interface ListedClusterBackups extends Pick<BackupRecord, 'bytes' | 'seconds' | 'failures'> {
  /** Name of the ProviderConfig. */
  readonly config: string;
  /** Time of the last complete backup; before the first one, when the Cluster was created. */
  readonly since: Date;
}

/** The Clusters of this instance that are backed up, from the caches. */
export const listBackups = (services: ProviderInstance & Pick<Services, 'stores'>): ListedClusterBackups[] =>
  services.stores.clusters.list().flatMap((cluster) => {
    const config = isOwnCluster(services, cluster) ? findProviderConfig(services, cluster) : undefined;
    if (!config?.spec.backup) return [];
    const { lastSuccess, bytes, seconds, failures } = readBackupRecord(cluster);
    const since = lastSuccess ?? new Date(cluster.metadata.creationTimestamp ?? 0);
    return [{ config: config.metadata.name, since, bytes, seconds, failures }];
  });
