import type { ClusterIdentity } from '../../api/cluster-identity.ts';
import { type ConditionState, conditionFalse, findFalseCondition } from '../../api/conditions.ts';
import { type AccessRequest, type Cluster, externalEndpointUrl } from '../../api/openmcp/types.ts';
import { trustedCertificates } from '../../talos/secrets/secrets-bundle.ts';
import { isOwnCluster } from '../cluster/cluster-responsibility.ts';
import { clusterIdentityOf } from '../cluster/identity.ts';
import { findSecretsState } from '../cluster/view.ts';
import type { TrustRecord } from '../rollout/oidc-trust/trust-record.ts';
import { readTrustReport, type TrustReport } from '../rollout/oidc-trust/trust-report.ts';
import type { Services } from '../shared/services.ts';
import type { ApiServerEndpoint } from './kubeconfig.ts';

/** A cluster that answers, as the caches have it. */
export interface TargetCluster {
  readonly ref: ClusterIdentity;
  readonly server: ApiServerEndpoint;
  /** The OIDC issuers that its control planes trust; undefined if there never were any. */
  readonly trust: TrustRecord | undefined;
  /** The trust status of its requests. */
  readonly trustReport: TrustReport | undefined;
}

/** The target cluster of a request, or why it is not available yet. */
export type TargetClusterLookup = TargetCluster | { readonly waiting: ConditionState };

export function findTargetCluster(services: Services, request: AccessRequest): TargetClusterLookup {
  const ref = request.spec.clusterRef;
  if (!ref)
    return {
      waiting: conditionFalse(
        'ClusterReady',
        'InvalidReference',
        'spec.clusterRef: not set yet. The openMCP operator sets it.',
      ),
    };
  const cluster = services.stores.clusters.get(ref);
  if (!cluster)
    return {
      waiting: conditionFalse(
        'ClusterReady',
        'ClusterMissing',
        `spec.clusterRef: there is no Cluster ${ref.namespace}/${ref.name}. Create it, or create an AccessRequest for another Cluster.`,
      ),
    };
  if (!isOwnCluster(services, cluster)) {
    return {
      waiting: conditionFalse(
        'ClusterReady',
        'InvalidReference',
        `spec.clusterRef: Cluster ${ref.namespace}/${ref.name} does not belong to this provider. Create an AccessRequest for a Cluster of this provider.`,
      ),
    };
  }
  return assessTargetCluster(services, cluster);
}

/** A Cluster of this provider as the target of accounts, or why it cannot be that now. */
export function assessTargetCluster(services: Services, cluster: Cluster): TargetClusterLookup {
  const { namespace = '', name } = cluster.metadata;
  const url = externalEndpointUrl(cluster);
  const secrets = findSecretsState(services, clusterIdentityOf(cluster));
  if (secrets?.kind === 'unusable')
    return { waiting: conditionFalse('ClusterReady', secrets.problem.reason, secrets.problem.message) };
  if (!url || secrets?.kind !== 'usable')
    return {
      waiting: conditionFalse('ClusterReady', 'WaitingForCluster', `Cluster ${namespace}/${name} is not ready yet.`),
    };
  // Only the Cluster controller probes an unreachable API server. Requests wait for its result, so that they occupy no
  // workers.
  const unresponsive = findFalseCondition(cluster.status?.conditions, 'EndpointReachable');
  if (unresponsive)
    return {
      waiting: conditionFalse(
        'ClusterReady',
        'WaitingForCluster',
        unresponsive.message ?? 'The API server does not answer.',
      ),
    };
  const { bundle, trust } = secrets.secrets;
  const server = { url, ca: trustedCertificates(bundle, 'kubernetes') };
  return { ref: clusterIdentityOf(cluster), server, trust, trustReport: readTrustReport(cluster) };
}
