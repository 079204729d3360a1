import type { ClusterIdentity } from '../../api/cluster-identity.ts';
import type { Machine } from '../../api/machine.ts';
import type { ProviderInstance } from '../../api/names.ts';
import type { Cluster } from '../../api/openmcp/types.ts';

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
