import {
  belongsToCluster,
  type ClusterIdentity,
  describeClusterOwner,
  isSameCluster,
  readClusterIdentity,
} from '../../api/cluster-identity.ts';
import type { Machine } from '../../api/machine.ts';
import { annotations, type ProviderInstance } from '../../api/names.ts';
import type { NodePool } from '../../api/node-pool.ts';
import type { Secret as KubeSecret } from '../../kube/core-types.ts';
import { clusterOfMachine, isOwnMachine } from './identity.ts';

/** Why this Secret cannot hold the secrets of a Cluster, and what to do; undefined if it can. */
export function describeForeignSecret({ metadata }: KubeSecret, cluster: ClusterIdentity): string | undefined {
  if (belongsToCluster(metadata, cluster)) return undefined;
  const owner = readClusterIdentity(metadata);
  const place = `Secret ${metadata.name} in namespace ${metadata.namespace}`;
  const message = `The secrets of this Cluster need ${place}, which belongs to ${describeClusterOwner(owner)} and is not changed.`;
  const isSameName = !owner || (owner.namespace === cluster.namespace && owner.name === cluster.name);
  if (!isSameName) return `${message} Create this Cluster with another name.`;
  return `${message} Once they are not needed, delete the Machines of that Cluster and then the Secret. If the Secret is from a backup of this Cluster, set its annotation ${annotations.clusterUid} to ${cluster.uid}.`;
}

/** The same for a Machine or NodePool whose name this Cluster needs. */
export function describeForeignMachine(
  instance: ProviderInstance,
  machine: Machine | NodePool,
  cluster: ClusterIdentity,
): string | undefined {
  const owner = clusterOfMachine(machine);
  const { name, environment, namespace } = machine.spec.providerRef;
  const subject = `${machine.kind} ${machine.metadata.name}`;
  if (isSameCluster(owner, cluster)) {
    if (isOwnMachine(instance, machine.spec)) return undefined;
    return `${subject} exists and belongs to another instance of the provider (${name}, environment ${environment}, namespace ${namespace}). It is not changed. Use only one instance for this Cluster.`;
  }
  const message = `${subject} exists and belongs to ${describeClusterOwner(owner)}. It is not changed.`;
  const isSameName = owner.namespace === cluster.namespace && owner.name === cluster.name;
  return isSameName
    ? `${message} Delete it once it is not needed; this Cluster continues then.`
    : `${message} Create this Cluster with another name, or with the annotation ${annotations.nodePrefix}.`;
}
