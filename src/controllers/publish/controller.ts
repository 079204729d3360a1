import { instanceFinalizers } from '../../api/names.ts';
import type { ReconcileContext, ReconcileResult } from '../../kube/controller/controller.ts';
import type { ObjectKey } from '../../kube/resource.ts';
import { findServedCluster } from '../cluster/cluster-responsibility.ts';
import type { FormServices } from './act-on-form.ts';
import type { PublicationMemory } from './publication-record.ts';
import { publishCluster } from './publish-cluster.ts';
import { releasePublications } from './release-publications.ts';
import { listSelectedPublications } from './selected-publications.ts';

/** Retry interval while the ProviderConfig or a ClusterConfig cannot be read. A change of it triggers a reconcile before. */
const unknownSeconds = 60;

/** Publishes one Cluster for other controllers, renews what it has published, and withdraws it. */
export async function reconcilePublication(
  services: FormServices,
  memory: PublicationMemory,
  key: ObjectKey,
  context: ReconcileContext,
): Promise<ReconcileResult> {
  const cluster = findServedCluster(services, key);
  if (!cluster) return {};
  const { publication, cluster: ownFinalizer } = instanceFinalizers(services);
  const { finalizers = [], deletionTimestamp } = cluster.metadata;
  const others = finalizers.filter((name) => name !== publication && name !== ownFinalizer);
  // The users of a Cluster come first: it is served, and published, until they have let go.
  if (deletionTimestamp && others.length === 0)
    return finalizers.includes(publication) ? await releasePublications(services, memory, cluster, context) : {};
  // Nothing new is published of a Cluster that is being deleted.
  if (deletionTimestamp && !finalizers.includes(publication)) return {};
  const publications = listSelectedPublications(services, cluster);
  if (!publications) return { requeueAfterSeconds: unknownSeconds };
  return await publishCluster(services, memory, { cluster, publications }, context);
}
