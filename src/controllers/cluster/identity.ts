import { type ClusterIdentity, isSameCluster } from '../../api/cluster-identity.ts';
import type { Machine } from '../../api/machine.ts';
import type { ProviderInstance } from '../../api/names.ts';
import type { NodePool } from '../../api/node-pool.ts';
import type { Cluster } from '../../api/openmcp/types.ts';

export const clusterIdentityOf = ({ metadata }: Cluster): ClusterIdentity => ({
  namespace: metadata.namespace ?? '',
  name: metadata.name,
  uid: metadata.uid ?? '',
});

export const clusterOfMachine = ({ spec }: Pick<Machine | NodePool, 'spec'>): ClusterIdentity => ({
  namespace: spec.clusterRef.namespace,
  name: spec.clusterRef.name,
  uid: spec.clusterRef.uid,
});

/**
 * Whether this instance created a Machine or NodePool. Those of other instances are ignored, even if both claim the same
 * Cluster by mistake.
 */
export const isOwnMachine = (
  instance: ProviderInstance,
  { providerRef }: Pick<Machine['spec'], 'providerRef'>,
): boolean =>
  providerRef.name === instance.provider &&
  providerRef.environment === instance.environment &&
  providerRef.namespace === instance.namespace;

/** Whether this instance created a Machine or NodePool for exactly this Cluster, and not for another one of its name. */
export const isOwnOfCluster = (
  instance: ProviderInstance,
  object: Pick<Machine | NodePool, 'spec'>,
  cluster: ClusterIdentity,
): boolean => isOwnMachine(instance, object.spec) && isSameCluster(clusterOfMachine(object), cluster);
