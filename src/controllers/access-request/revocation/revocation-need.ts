import { clusterSecretsName, instanceFinalizers } from '../../../api/names.ts';
import { type AccessRequest, Cluster, type NamespacedRef } from '../../../api/openmcp/types.ts';
import { Secret } from '../../../kube/core-types.ts';
import { isOwnCluster } from '../../cluster/cluster-responsibility.ts';
import { clusterIdentityOf } from '../../cluster/identity.ts';
import { assessSecretsOfCluster, machinesOfCluster } from '../../cluster/view.ts';
import type { TrustRecord } from '../../rollout/oidc-trust/trust-record.ts';
import type { Services } from '../../shared/services.ts';

/**
 * The access to revoke in the target cluster. `nothing`: the Cluster does not exist or was never created, etcd was
 * never bootstrapped, or another instance owns the Cluster. `unknown`: the secrets of the cluster cannot be used, which
 * is no proof; only the deletion of the Cluster itself ends the access.
 */
export type RevocationNeed =
  | { readonly kind: 'nothing' }
  | { readonly kind: 'unknown'; readonly message: string }
  | { readonly kind: 'access'; readonly trust: TrustRecord | undefined };

/** Reads Cluster and secrets from the API server and not from the cache. */
export async function readRevocationNeed(
  services: Services,
  { spec: { clusterRef: ref } }: AccessRequest,
  signal: AbortSignal,
): Promise<RevocationNeed> {
  if (!ref || !isPossibleClusterRef(ref)) return { kind: 'nothing' };
  const cluster = await services.kube.find(Cluster, ref, signal);
  if (!cluster || !isManagedCluster(services, cluster)) return { kind: 'nothing' };
  const key = { namespace: services.namespace, name: clusterSecretsName(ref) };
  const object = await services.kube.find(Secret, key, signal);
  const machines = machinesOfCluster(services, clusterIdentityOf(cluster));
  const state = assessSecretsOfCluster(services, { object, cluster, machines });
  if (state.kind === 'usable') {
    const { bootstrappedAt, trust } = state.secrets;
    return bootstrappedAt === undefined ? { kind: 'nothing' } : { kind: 'access', trust };
  }
  if (state.kind === 'none' || cluster.metadata.deletionTimestamp) return { kind: 'nothing' };
  return { kind: 'unknown', message: state.problem.message };
}

/** Whether a Cluster of that name can exist: the schema accepts any text, and the text becomes part of URL paths. */
const isPossibleClusterRef = ({ namespace, name }: NamespacedRef): boolean =>
  [namespace, name].every((part) => /^[a-z0-9]/.test(part));

/**
 * The secrets of another instance's Cluster may be in the same namespace. A Cluster of this instance has its finalizer.
 */
const isManagedCluster = (services: Services, cluster: Cluster): boolean =>
  isOwnCluster(services, cluster) ||
  (cluster.metadata.finalizers?.includes(instanceFinalizers(services).cluster) ?? false);
