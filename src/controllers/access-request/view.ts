import { accessRequestId, accessSecretName, instanceFinalizers, openmcpKeys } from '../../api/names.ts';
import type { AccessRequest, Cluster } from '../../api/openmcp/types.ts';
import type { Secret as KubeSecret } from '../../kube/core-types.ts';
import { isOwnCluster } from '../cluster/cluster-responsibility.ts';
import type { Services } from '../shared/services.ts';
import type { AccessFailure } from './explain-failure.ts';
import type { TargetClusterLookup } from './find-target-cluster.ts';
import { type Responsibility, responsibilityFor } from './responsibility.ts';
import type { RevocationNeed } from './revocation/revocation-need.ts';
import type { AccessIdentity } from './target-cluster/desired-access.ts';
import type { SigningKeyIds } from './target-cluster/signing-key-cache.ts';

export interface AccessOptions {
  readonly accountNamespace: string;
}

/**
 * The input of {@link decideAccessRequest}. {@link viewAccessRequest} fills in what the caches say of the request. The
 * optional fields are the second stage: each is read or set by an action that was decided before, because it costs
 * calls, and the calls to a target cluster must be few. Undefined: not known yet, or not done in this reconcile.
 */
export interface AccessRequestView {
  readonly request: AccessRequest;
  readonly identity: AccessIdentity;
  readonly responsibility: Responsibility;
  /** The finalizer of this instance. */
  readonly finalizer: string;
  /** The Cluster of the request, if it belongs to this instance. */
  readonly ownCluster: Cluster | undefined;
  /** From the cache, which has only Secrets with our labels, before each decision. */
  readonly secret: KubeSecret | undefined;

  /** The operation `reconcile` was requested, and its annotation is removed. */
  readonly isRenewalRequested?: true;
  readonly target?: TargetClusterLookup;
  /** The result of a search for the Secret at the API server. */
  readonly soughtSecret?: { readonly object: KubeSecret | undefined };
  readonly signingKeys?: { readonly ids: SigningKeyIds };
  /** The objects in the target cluster are as requested. The UID of the account, if the request has one. */
  readonly ensured?: { readonly account: string | undefined };
  /** The objects of the request in the target cluster are removed. */
  readonly areObjectsRemoved?: true;
  /** The Secret is removed, even if the cache still shows it. */
  readonly isSecretRemoved?: true;
  /** The Secret is written. The time at which its token is to be renewed. */
  readonly written?: { readonly renewalDue: Date | undefined };
  /** Why an action did not succeed. */
  readonly failure?: AccessFailure;
  readonly revocationNeed?: RevocationNeed;
  /** Whether all control planes are gone together with their disks. */
  readonly isClusterLost?: boolean;
}

/** The view of a request from the caches. */
export function viewAccessRequest(
  services: Services,
  options: AccessOptions,
  request: AccessRequest,
): AccessRequestView {
  const { environment, provider, stores } = services;
  const { namespace = '', name, uid = '' } = request.metadata;
  const ref = { namespace, name, uid };
  const id = accessRequestId(environment, provider, ref);
  const cluster = request.spec.clusterRef && stores.clusters.get(request.spec.clusterRef);
  return {
    request,
    identity: { id, provider, accountNamespace: options.accountNamespace, request: ref },
    responsibility: responsibilityFor(services, request),
    finalizer: instanceFinalizers(services).accessRequest,
    ownCluster: cluster && isOwnCluster(services, cluster) ? cluster : undefined,
    secret: findCachedSecret(services, request),
  };
}

export function findCachedSecret(
  { stores }: Pick<Services, 'stores'>,
  { metadata }: AccessRequest,
): KubeSecret | undefined {
  const { namespace = '', name } = metadata;
  return stores.accessSecrets.get({ namespace, name: accessSecretName({ namespace, name }) });
}

export const hasOwnFinalizer = ({ request, finalizer }: Pick<AccessRequestView, 'request' | 'finalizer'>): boolean =>
  request.metadata.finalizers?.includes(finalizer) ?? false;

/** The operation that the annotation of the request asks for. */
export const operationOf = ({ metadata }: AccessRequest): string | undefined =>
  metadata.annotations?.[openmcpKeys.operation];
