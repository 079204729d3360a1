import {
  belongsToCluster,
  type ClusterIdentity,
  describeClusterOwner,
  isSameCluster,
  readClusterIdentity,
} from '../../api/cluster-identity.ts';
import type { Machine } from '../../api/machine.ts';
import { annotations, type ProviderInstance } from '../../api/names.ts';
import type { Secret as KubeSecret } from '../../kube/core-types.ts';
import { clusterOfMachine, isOwnMachine } from './identity.ts';

/** Why this Secret cannot hold the secrets of a Cluster, and what to do; undefined if it can. */
export function describeForeignSecret({ metadata }: KubeSecret, cluster: ClusterIdentity): string | undefined {
  if (belongsToCluster(metadata, cluster)) return undefined;
  const owner = readClusterIdentity(metadata);
  const place = `Secret ${metadata.name} in namespace ${metadata.namespace}`;
  const message = `The secrets of this Cluster would lie in ${place}, which belongs to ${describeClusterOwner(owner)}. It is left as it is.`;
  const isSameName = !owner || (owner.namespace === cluster.namespace && owner.name === cluster.name);
  if (!isSameName) return `${message} Make this Cluster under another name.`;
  return `${message} Remove the Machines of that Cluster and then the Secret, once nothing needs them. If the Secret is that of this Cluster, e.g. out of a backup, correct its annotation ${annotations.clusterUid} to ${cluster.uid}.`;
}

/** The same for a Machine whose name this Cluster needs. */
export function describeForeignMachine(
  instance: ProviderInstance,
  machine: Machine,
  cluster: ClusterIdentity,
): string | undefined {
  const owner = clusterOfMachine(machine);
  const { name, environment, namespace } = machine.spec.providerRef;
  if (isSameCluster(owner, cluster)) {
    if (isOwnMachine(instance, machine.spec)) return undefined;
    return `Machine ${machine.metadata.name} exists and was made by another instance of the provider (${name}, environment ${environment}, namespace ${namespace}). It is left as it is. Have only one instance serve this Cluster.`;
  }
  const message = `Machine ${machine.metadata.name} exists and belongs to ${describeClusterOwner(owner)}. It is left as it is.`;
  const isSameName = owner.namespace === cluster.namespace && owner.name === cluster.name;
  return isSameName
    ? `${message} This Cluster goes on when it is gone: delete it, once nothing needs it.`
    : `${message} Make this Cluster under another name, or with the annotation ${annotations.nodePrefix}.`;
}
