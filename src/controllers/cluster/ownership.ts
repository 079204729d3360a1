import {
  belongsToCluster,
  type ClusterIdentity,
  describeClusterOwner,
  isSameCluster,
  readClusterIdentity,
} from '../../api/cluster-identity.ts';
import type { Machine } from '../../api/machine.ts';
import { annotations, clusterSecretsName, type ProviderInstance } from '../../api/names.ts';
import type { Cluster } from '../../api/openmcp/types.ts';
import type { Secret as KubeSecret } from '../../kube/core-types.ts';
import type { Services } from '../shared/services.ts';

export const clusterIdentityOf = ({ metadata }: Cluster): ClusterIdentity => ({
  namespace: metadata.namespace ?? '',
  name: metadata.name,
  uid: metadata.uid ?? '',
});

export const clusterOfMachine = ({ spec }: Machine): ClusterIdentity => ({
  namespace: spec.clusterRef.namespace,
  name: spec.clusterRef.name,
  uid: spec.clusterRef.uid,
});

/**
 * Whether this instance created a Machine. Machines of other instances are ignored, even if both claim the same Cluster
 * by mistake.
 */
export const isOwnMachine = (instance: ProviderInstance, { providerRef }: Machine['spec']): boolean =>
  providerRef.name === instance.provider &&
  providerRef.environment === instance.environment &&
  providerRef.namespace === instance.namespace;

type SecretSource = Pick<Services, 'namespace'> & {
  readonly stores: { readonly secrets: Pick<Services['stores']['secrets'], 'get'> };
};

/** The Secret of a Cluster; undefined if it does not exist or belongs to another Cluster. */
export function findClusterSecret(
  { stores, namespace }: SecretSource,
  cluster: ClusterIdentity,
): KubeSecret | undefined {
  const object = stores.secrets.get({ namespace, name: clusterSecretsName(cluster) });
  return object && belongsToCluster(object.metadata, cluster) ? object : undefined;
}

/** The Cluster with this identity; undefined if it is gone, even if another Cluster has its name now. */
export function findCluster(
  stores: { readonly clusters: Pick<Services['stores']['clusters'], 'get'> },
  cluster: ClusterIdentity,
): Cluster | undefined {
  const object = stores.clusters.get(cluster);
  return object && isSameCluster(clusterIdentityOf(object), cluster) ? object : undefined;
}

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
