import { isSameCluster } from '../../api/cluster-identity.ts';
import { Machine } from '../../api/machine.ts';
import { type Instance, labels } from '../../api/names.ts';
import type { NamespacedRef } from '../../api/openmcp.ts';
import { clusterOf, isOwnMachine, refOf } from '../cluster/identity.ts';
import type { Services } from '../services.ts';

/**
 * Whether nothing of a cluster can answer any more, though its Cluster object is left: it has control planes, and each of them
 * was seen to be gone with its disk. What was granted in it went with etcd. A machine that is only silent proves nothing.
 */
export async function isClusterLost(
  services: Instance & Pick<Services, 'kube' | 'stores'>,
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
      isSameCluster(clusterOf(machine), refOf(cluster)),
  );
  return planes.length > 0 && planes.every(({ status }) => status?.lost === true);
}
