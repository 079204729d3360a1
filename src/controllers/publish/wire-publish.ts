import { clusterProfileName, labels } from '../../api/names.ts';
import { type ControllerOptions, createKeySource, type KeySource } from '../../kube/controller/controller.ts';
import { formatObjectKey, type ObjectKey, objectKeyOf } from '../../kube/resource.ts';
import { isRelevantForAccess } from '../access-request/is-relevant-for-access.ts';
import type { AccessOptions } from '../access-request/view.ts';
import { profileKeySource } from '../cluster/cluster-responsibility.ts';
import { clusterReports, hasOtherClusterReport } from '../shared/cluster-report.ts';
import { changedBeyondStatus } from '../shared/objects.ts';
import { clusterNamedBy, hasOtherAuthorities } from '../shared/secrets/authority-changes.ts';
import type { Services } from '../shared/services.ts';
import { reconcilePublication } from './controller.ts';
import { PublicationMemory } from './publication-record.ts';

const workers = 8;
/** Limits how often the author of a ClusterConfig can trigger its Clusters. */
const clusterConfigPauseSeconds = 5;

/** It has no name on the command line: publication is a part of what a Cluster is given. */
export function wirePublish(
  services: Services,
  { accountNamespace }: AccessOptions,
): Pick<ControllerOptions, 'sources' | 'reconcile' | 'concurrency' | 'groups'> {
  const memory = new PublicationMemory();
  return {
    reconcile: (key, context) => reconcilePublication({ ...services, accountNamespace }, memory, key, context),
    sources: publicationKeySources(services),
    concurrency: workers,
    // A cluster that answers slowly delays no others.
    groups: { groupOf: formatObjectKey, limitsSlowGroups: true },
  };
}

const publicationKeySources = ({
  stores,
  environment,
  provider,
  clock,
}: Pick<Services, 'stores' | 'environment' | 'provider' | 'clock'>): readonly KeySource[] => [
  createKeySource(stores.clusters, (change) =>
    change.kind !== 'resync' &&
    (changedBeyondStatus(change) ||
      isRelevantForAccess(change) ||
      hasOtherClusterReport(clusterReports.publish, change))
      ? [objectKeyOf(change.object)]
      : [],
  ),
  profileKeySource(stores),
  createKeySource(stores.providerConfigs, (change): ObjectKey[] => {
    if (change.kind === 'resync' || !changedBeyondStatus(change)) return [];
    const profile = clusterProfileName(environment, provider, change.object.metadata.name);
    return stores.clusters.by('profile', profile).map(objectKeyOf);
  }),
  createKeySource(
    stores.clusterConfigs,
    ({ kind, object }) =>
      kind === 'resync'
        ? []
        : stores.clusters.by('clusterConfig', formatObjectKey(objectKeyOf(object))).map(objectKeyOf),
    { clock, seconds: clusterConfigPauseSeconds },
  ),
  createKeySource(stores.secrets, (change) => (hasOtherAuthorities(change) ? clusterNamedBy(change.object) : [])),
  // What others delete or change is restored.
  createKeySource(stores.accessSecrets, ({ kind, object }) =>
    kind !== 'resync' && kind !== 'added' && object.metadata.labels?.[labels.published] !== undefined
      ? clusterNamedBy(object)
      : [],
  ),
];
