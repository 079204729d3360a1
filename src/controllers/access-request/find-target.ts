import type { ClusterIdentity } from '../../api/cluster-identity.ts';
import { type ConditionState, findFalse, no } from '../../api/conditions.ts';
import { type AccessRequest, type Cluster, externalEndpoint, type NamespacedRef } from '../../api/openmcp.ts';
import { refOf } from '../cluster/identity.ts';
import { isOurs, secretsStateOf } from '../cluster/view.ts';
import type { Services } from '../services.ts';
import type { ServerIdentity } from './kubeconfig.ts';

/** The target of a request, or why there is none yet. */
export type Target =
  | { readonly ref: ClusterIdentity; readonly cluster: Cluster; readonly server: ServerIdentity }
  | { readonly waiting: ConditionState };

/** Whether there could be a Cluster of that name: the schema lets any text through, and paths are made of it. */
export const isPossible = ({ namespace, name }: NamespacedRef): boolean =>
  [namespace, name].every((part) => /^[a-z0-9]/.test(part));

export function findTarget(services: Services, request: AccessRequest): Target {
  const ref = request.spec.clusterRef;
  if (!ref)
    return {
      waiting: no('ClusterReady', 'InvalidReference', 'spec.clusterRef: not set yet. The operator fills it in.'),
    };
  const cluster = services.stores.clusters.get(ref);
  if (!cluster)
    return {
      waiting: no(
        'ClusterReady',
        'ClusterMissing',
        `spec.clusterRef: there is no Cluster ${ref.namespace}/${ref.name}. Create it, or make a new request for another.`,
      ),
    };
  if (!isOurs(services, cluster)) {
    return {
      waiting: no(
        'ClusterReady',
        'InvalidReference',
        `spec.clusterRef: Cluster ${ref.namespace}/${ref.name} does not belong to this provider. Make a new request for one that does.`,
      ),
    };
  }
  const url = externalEndpoint(cluster);
  const secrets = secretsStateOf(services, refOf(cluster));
  if (secrets?.kind === 'unusable')
    return { waiting: no('ClusterReady', secrets.trouble.reason, secrets.trouble.message) };
  if (!url || secrets?.kind !== 'usable')
    return {
      waiting: no('ClusterReady', 'WaitingForCluster', `Cluster ${ref.namespace}/${ref.name} is not ready yet.`),
    };
  // One asks whether it answers again: the Cluster. Those who wait for it neither ask nor hold up others.
  const silent = findFalse(cluster.status?.conditions, 'EndpointReachable');
  if (silent) return { waiting: no('ClusterReady', 'WaitingForCluster', silent.message ?? 'It does not answer.') };
  const ca = secrets.secrets.bundle.authorities.kubernetes.certificate;
  return { ref: refOf(cluster), cluster, server: { url, ca } };
}
