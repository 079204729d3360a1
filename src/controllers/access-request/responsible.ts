import { finalizersOf, type Instance, isHeldByAnother, openmcp } from '../../api/names.ts';
import { type AccessRequest, phases } from '../../api/openmcp.ts';
import { isOfNamesake } from '../cluster/view.ts';
import type { Services } from '../services.ts';

/**
 * The rule by which the openMCP operator hands a request to a provider: both labels, and a phase that is Pending, or
 * Granted for the current generation. Outside of it a request is not ours, not even in deletion.
 */
export function isResponsible(request: AccessRequest, provider: string): boolean {
  const { labels, generation } = request.metadata;
  if (labels?.[openmcp.provider] !== provider || labels[openmcp.profile] === undefined) return false;
  const phase = request.status?.phase;
  if (phase === phases.pending) return true;
  return phase === phases.granted && request.status?.observedGeneration === generation;
}

/**
 * Whether a request was ours, which our finalizer proves, and no longer is: it was denied, labelled for another provider, or
 * deleted in a phase that no provider handles. Then its access is revoked and our finalizer removed; nothing else is changed.
 * False between a change of its spec and the operator's next status update, when its phase is stale for a moment.
 */
export function hasLeft(request: AccessRequest, instance: Instance): boolean {
  const { provider } = instance;
  const { labels, finalizers: held, deletionTimestamp } = request.metadata;
  if (!held?.includes(finalizersOf(instance).accessRequest) || isResponsible(request, provider)) return false;
  const isElsewhere = labels?.[openmcp.provider] !== provider;
  return isElsewhere || request.status?.phase === phases.denied || deletionTimestamp !== undefined;
}

/**
 * Whether another instance of the same name serves a request: the labels of the operator do not tell them apart, and the Cluster does.
 * For a Cluster that does not exist it is the instance that holds the request.
 */
export function isForNamesake(services: Instance & Pick<Services, 'stores'>, request: AccessRequest): boolean {
  const { clusterRef } = request.spec;
  const cluster = clusterRef && services.stores.clusters.get(clusterRef);
  if (cluster) return isOfNamesake(services, cluster);
  return isHeldByAnother(request.metadata.finalizers, finalizersOf(services).accessRequest);
}
