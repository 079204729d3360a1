import { clusterProfileName } from '../../api/names.ts';
import { createKeySource, type KeySource } from '../../kube/controller/controller.ts';
import { objectKeyOf } from '../../kube/resource.ts';
import { changedBeyondStatus } from '../shared/objects.ts';
import type { Services } from '../shared/services.ts';
import { hasOtherBackupReport } from './report-backup.ts';

/** What changes the backups of a Cluster, besides time. */
export const backupKeySources = ({
  stores,
  environment,
  provider,
}: Pick<Services, 'stores' | 'environment' | 'provider'>): readonly KeySource[] => [
  createKeySource(stores.clusters, (change) =>
    change.kind !== 'resync' && (changedBeyondStatus(change) || hasOtherBackupReport(change))
      ? [objectKeyOf(change.object)]
      : [],
  ),
  createKeySource(stores.providerConfigs, (change) => {
    if (change.kind === 'resync' || !changedBeyondStatus(change)) return [];
    const profile = clusterProfileName(environment, provider, change.object.metadata.name);
    return stores.clusters.by('profile', profile).map(objectKeyOf);
  }),
];
