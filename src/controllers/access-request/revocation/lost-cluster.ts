import { Machine } from '../../../api/machine.ts';
import { labels, type ProviderInstance } from '../../../api/names.ts';
import type { NamespacedRef } from '../../../api/openmcp/types.ts';
import { clusterIdentityOf, isOwnOfCluster } from '../../cluster/identity.ts';
import type { Services } from '../../shared/services.ts';

/**
 * Whether a cluster is proven to be lost although its Cluster object exists: it has control planes, and each was
 * observed to be gone together with its disk. The granted access was lost with etcd. A machine that only does not
 * answer proves nothing.
 */
export async function isClusterLost(
  services: ProviderInstance & Pick<Services, 'kube' | 'stores'>,
  ref: NamespacedRef,
  signal: AbortSignal,
): Promise<boolean> {
  const cluster = services.stores.clusters.get(ref);
  if (!cluster) return false;
  const { items } = await services.kube.list(
    Machine,
    { labelSelector: `${labels.provider}=${services.provider}` },
    signal,
  );
  const controlPlanes = items.filter(
    (machine) => machine.spec.role === 'controlplane' && isOwnOfCluster(services, machine, clusterIdentityOf(cluster)),
  );
  return controlPlanes.length > 0 && controlPlanes.every(({ status }) => status?.lost === true);
}
