import { annotations } from '../../api/names.ts';
import { type ControllerOptions, createKeySource, type KeySource } from '../../kube/controller/controller.ts';
import { type ObjectKey, objectKeyOf } from '../../kube/resource.ts';
import { profileKeySource } from '../cluster/cluster-responsibility.ts';
import { clusterReports, hasOtherClusterReport } from '../shared/cluster-report.ts';
import { changedBeyondStatus } from '../shared/objects.ts';
import type { Services } from '../shared/services.ts';
import { reconcileRestore } from './controller.ts';
import { verifySeconds } from './prepare-restore.ts';
import { VerificationMemory } from './verification-memory.ts';

/** Each one is a stream from the bucket, and to a node. */
const concurrentRestores = 4;
const deadlineSeconds = verifySeconds + 120;

/** It has no name on the command line: it is a part of what is done with Clusters. */
export function wireRestore(
  services: Services,
): Pick<ControllerOptions, 'sources' | 'reconcile' | 'concurrency' | 'deadlineSeconds'> {
  const memory = new VerificationMemory();
  return {
    reconcile: (key, context) => reconcileRestore(services, memory, key, context),
    sources: restoreKeySources(services),
    ...{ concurrency: concurrentRestores, deadlineSeconds },
  };
}

const restoreKeySources = ({ stores, namespace }: Pick<Services, 'stores' | 'namespace'>): readonly KeySource[] => {
  const asking = (name: string): ObjectKey[] =>
    stores.clusters
      .list()
      .filter(({ metadata }) => metadata.annotations?.[annotations.restoreIdentity] === name)
      .map(objectKeyOf);
  return [
    createKeySource(stores.clusters, (change) =>
      change.kind !== 'resync' && (changedBeyondStatus(change) || hasOtherClusterReport(clusterReports.restore, change))
        ? [objectKeyOf(change.object)]
        : [],
    ),
    profileKeySource(stores),
    // The Secret with the identity.
    createKeySource(stores.secrets, ({ kind, object: { metadata } }) =>
      kind !== 'resync' && metadata.namespace === namespace ? asking(metadata.name) : [],
    ),
  ];
};
