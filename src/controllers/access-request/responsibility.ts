import { instanceFinalizers, isHeldByOtherInstance, openmcpKeys, type ProviderInstance } from '../../api/names.ts';
import { type AccessRequest, openmcpPhases } from '../../api/openmcp/types.ts';
import { isOfOtherInstance } from '../cluster/cluster-responsibility.ts';
import type { Services } from '../shared/services.ts';

/**
 * The rule by which the openMCP operator assigns a request to a provider: both labels, and a phase that is Pending, or
 * Granted for the current generation. All other requests are ignored, even in deletion.
 */
export function isResponsible(request: AccessRequest, provider: string): boolean {
  const { labels, generation } = request.metadata;
  if (labels?.[openmcpKeys.provider] !== provider || labels[openmcpKeys.profile] === undefined) return false;
  const phase = request.status?.phase;
  if (phase === openmcpPhases.pending) return true;
  return phase === openmcpPhases.granted && request.status?.observedGeneration === generation;
}

/**
 * Whether this provider owned a request, which its finalizer proves, and no longer does: the request was denied,
 * labelled for another provider, or deleted in a phase that no provider handles. Then its access is revoked and the
 * finalizer removed; nothing else is changed. False between a change of its spec and the operator's next status update,
 * while its phase is stale.
 */
export function isNoLongerResponsible(request: AccessRequest, instance: ProviderInstance): boolean {
  const { provider } = instance;
  const { labels, finalizers: held, deletionTimestamp } = request.metadata;
  if (!held?.includes(instanceFinalizers(instance).accessRequest) || isResponsible(request, provider)) return false;
  const isElsewhere = labels?.[openmcpKeys.provider] !== provider;
  return isElsewhere || request.status?.phase === openmcpPhases.denied || deletionTimestamp !== undefined;
}

/**
 * Whether another instance of the same name owns a request: the labels of the operator do not distinguish instances,
 * but the Cluster does. If the Cluster does not exist, the finalizer on the request decides.
 */
function isForOtherInstance(services: ProviderInstance & Pick<Services, 'stores'>, request: AccessRequest): boolean {
  const { clusterRef } = request.spec;
  const cluster = clusterRef && services.stores.clusters.get(clusterRef);
  if (cluster) return isOfOtherInstance(services, cluster);
  return isHeldByOtherInstance(request.metadata.finalizers, instanceFinalizers(services).accessRequest);
}

/**
 * What this instance has to do with a request. `formerly-own`: it may have granted access, which it revokes.
 * `other-instance`: another instance of its name has the Cluster.
 */
export type Responsibility = 'own' | 'formerly-own' | 'other-instance' | 'none';

export function responsibilityFor(
  services: ProviderInstance & Pick<Services, 'stores'>,
  request: AccessRequest,
): Responsibility {
  if (isForOtherInstance(services, request)) return 'other-instance';
  if (isResponsible(request, services.provider)) return 'own';
  return isNoLongerResponsible(request, services) ? 'formerly-own' : 'none';
}
