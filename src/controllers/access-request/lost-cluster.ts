import { isSameCluster } from '../../api/cluster-identity.ts';
import { Machine } from '../../api/machine.ts';
import { labels, type ProviderInstance } from '../../api/names.ts';
import type { NamespacedRef } from '../../api/openmcp/types.ts';
import { clusterIdentityOf, clusterOfMachine, isOwnMachine } from '../cluster/ownership.ts';
import type { Services } from '../shared/services.ts';

/**
 * Whether nothing of a cluster can answer any more, though its Cluster object is left: it has control planes, and each of them
 * was seen to be gone with its disk. What was granted in it went with etcd. A machine that is only silent proves nothing.
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
  const planes = items.filter(
    (machine) =>
      machine.spec.role === 'controlplane' &&
      isOwnMachine(services, machine.spec) &&
      isSameCluster(clusterOfMachine(machine), clusterIdentityOf(cluster)),
  );
  return planes.length > 0 && planes.every(({ status }) => status?.lost === true);
}
