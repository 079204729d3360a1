import { openmcpKeys } from '../../../src/api/names.ts';
import {
  AccessRequest,
  Cluster,
  ClusterProfile,
  type NamespacedRef,
  openmcpPhases,
} from '../../../src/api/openmcp/types.ts';
import type { KubeClient } from '../../../src/kube/client/client.ts';
import type { ReconcileContext, ReconcileResult } from '../../../src/kube/controller/controller.ts';
import { type KubeObject, type ObjectKey, objectKeyOf, type ResourceType } from '../../../src/kube/resource.ts';
import type { Clock } from '../../../src/lib/clock.ts';
import { ProviderError } from '../../../src/lib/errors.ts';
import { ClusterRequest } from './cluster-request.ts';
import { parseDuration } from './duration.ts';
import { isIgnoredByOperation } from './event-filter.ts';

/** Whether a provider handles a request. Meanwhile the operator ignores it. */
export function isHandledByProvider({ metadata, status }: AccessRequest): boolean {
  const { labels, generation } = metadata;
  if (labels?.[openmcpKeys.provider] === undefined || labels[openmcpKeys.profile] === undefined) return false;
  if (status?.phase === openmcpPhases.pending) return true;
  return status?.phase === openmcpPhases.granted && status.observedGeneration === generation;
}

/**
 * Whether the operator's generic controller handles a request: when no provider has it, or when it may have expired.
 */
export const concernsOperator = (request: AccessRequest): boolean =>
  !isHandledByProvider(request) ||
  (request.spec?.ttl !== undefined && request.metadata.deletionTimestamp === undefined);

/**
 * The operator's handling of an AccessRequest before a provider: find the Cluster, set the labels of provider and
 * profile, set the phase to `Pending` with the current generation (in every case, even after an error), and delete it
 * when it has expired.
 */
export async function reconcileGenericAccessRequest(
  kube: KubeClient,
  clock: Clock,
  key: ObjectKey,
  { signal }: ReconcileContext,
): Promise<ReconcileResult> {
  const request = await kube.find(AccessRequest, key, signal);
  if (!request || isIgnoredByOperation(request)) return {};
  const isOnlyTimed = isHandledByProvider(request);
  if (isOnlyTimed && !request.spec?.ttl) return {};
  const current = isOnlyTimed ? request : await removeReconcileAnnotation(kube, request, signal);
  const left = secondsUntilExpiry(current, clock);
  if (left !== undefined && left <= 0) {
    await kube.remove(AccessRequest, key, {}, signal);
    return {};
  }
  const again = left === undefined ? {} : { requeueAfterSeconds: left + 1 };
  if (isOnlyTimed) return again;
  let hold = current;
  try {
    hold = await resolveCluster(kube, current, signal);
  } catch (error) {
    await setPendingPhase(kube, current, signal);
    throw error;
  }
  await setPendingPhase(kube, hold, signal);
  return again;
}

async function removeReconcileAnnotation(
  kube: KubeClient,
  request: AccessRequest,
  signal: AbortSignal,
): Promise<AccessRequest> {
  if (request.metadata.annotations?.[openmcpKeys.operation] !== 'reconcile') return request;
  const patch = { metadata: { annotations: { [openmcpKeys.operation]: null } } };
  return await kube.merge(AccessRequest, objectKeyOf(request), patch, {}, signal);
}

/** Time until its expiry, counted from its creation. Undefined without an expiry. */
function secondsUntilExpiry({ metadata, spec }: AccessRequest, clock: Clock): number | undefined {
  if (!spec?.ttl || metadata.deletionTimestamp) return undefined;
  const endsAt = Date.parse(metadata.creationTimestamp ?? '') + parseDuration(spec.ttl);
  return (endsAt - clock.now().getTime()) / 1000;
}

/** Sets clusterRef and the two labels. Different existing labels stay, with only a log line. */
async function resolveCluster(kube: KubeClient, request: AccessRequest, signal: AbortSignal): Promise<AccessRequest> {
  const { labels = {} } = request.metadata;
  const isLabelled = labels[openmcpKeys.provider] !== undefined && labels[openmcpKeys.profile] !== undefined;
  if (isLabelled && request.spec?.clusterRef) return request;
  const clusterRef = request.spec?.clusterRef ?? (await clusterOf(kube, request.spec?.requestRef, signal));
  const cluster = await getOrThrow(kube, Cluster, clusterRef, signal);
  const profile = await getOrThrow(kube, ClusterProfile, { name: cluster.spec.profile }, signal);
  const wanted = {
    [openmcpKeys.provider]: profile.spec.providerRef.name,
    [openmcpKeys.profile]: profile.metadata.name,
  };
  const isInConflict = Object.entries(wanted).some(([name, value]) => (labels[name] ?? value) !== value);
  if (isInConflict) return request;
  const patch = { metadata: { labels: wanted }, spec: { clusterRef } };
  return await kube.merge(AccessRequest, objectKeyOf(request), patch, {}, signal);
}

async function clusterOf(
  kube: KubeClient,
  requestRef: NamespacedRef | undefined,
  signal: AbortSignal,
): Promise<NamespacedRef> {
  if (!requestRef) throw missingObjectError('neither clusterRef nor requestRef is set');
  const request = await getOrThrow(kube, ClusterRequest, requestRef, signal);
  const ref = request.status?.cluster;
  if (request.status?.phase !== openmcpPhases.granted || !ref)
    throw missingObjectError(`ClusterRequest ${requestRef.name} is not granted`);
  return { name: ref.name, namespace: ref.namespace };
}

async function getOrThrow<T extends KubeObject>(
  kube: KubeClient,
  type: ResourceType<T>,
  key: ObjectKey,
  signal: AbortSignal,
): Promise<T> {
  const found = await kube.find(type, key, signal);
  if (!found) throw missingObjectError(`${type.kind} ${key.name} not found`);
  return found;
}

/** Retried with backoff, as by the operator, which has no watch for it. */
const missingObjectError = (detail: string) => new ProviderError('UNREACHABLE', detail);

async function setPendingPhase(kube: KubeClient, request: AccessRequest, signal: AbortSignal): Promise<void> {
  const { generation = 0 } = request.metadata;
  const { phase, observedGeneration } = request.status ?? {};
  if (phase === openmcpPhases.pending && observedGeneration === generation) return;
  const status = { phase: openmcpPhases.pending, observedGeneration: generation };
  await kube.merge(AccessRequest, objectKeyOf(request), { status }, { subresource: 'status' }, signal);
}
