import { clusterProfileName } from '../../api/names.ts';
import { type ControllerOptions, createKeySource, type KeySource } from '../../kube/controller/controller.ts';
import { objectKeyOf } from '../../kube/resource.ts';
import { profileKeySource } from '../cluster/cluster-responsibility.ts';
import { clusterReports, hasOtherClusterReport } from '../shared/cluster-report.ts';
import { changedBeyondStatus } from '../shared/objects.ts';
import type { Services } from '../shared/services.ts';
import { BackupMemory } from './backup-record.ts';
import { attemptSeconds, reconcileBackup } from './controller.ts';

/** Each backup is a stream between a node and the bucket. */
const concurrentBackups = 4;
/** A reconcile may last longer than an attempt, whose failure is reported. */
const deadlineSeconds = attemptSeconds + 120;

/** It has no name on the command line: backups are a part of what a Cluster is given. */
export function wireBackup(
  services: Services,
): Pick<ControllerOptions, 'sources' | 'reconcile' | 'concurrency' | 'deadlineSeconds'> {
  const memory = new BackupMemory();
  return {
    reconcile: (key, context) => reconcileBackup(services, memory, key, context),
    sources: backupKeySources(services),
    ...{ concurrency: concurrentBackups, deadlineSeconds },
  };
}

/** What changes the backups of a Cluster, besides time. */
const backupKeySources = ({
  stores,
  environment,
  provider,
}: Pick<Services, 'stores' | 'environment' | 'provider'>): readonly KeySource[] => [
  createKeySource(stores.clusters, (change) =>
    change.kind !== 'resync' && (changedBeyondStatus(change) || hasOtherClusterReport(clusterReports.backup, change))
      ? [objectKeyOf(change.object)]
      : [],
  ),
  profileKeySource(stores),
  createKeySource(stores.providerConfigs, (change) => {
    if (change.kind === 'resync' || !changedBeyondStatus(change)) return [];
    const profile = clusterProfileName(environment, provider, change.object.metadata.name);
    return stores.clusters.by('profile', profile).map(objectKeyOf);
  }),
];
