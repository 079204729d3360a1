import { openmcp } from '../../../src/api/names.ts';
import { AccessRequest, Cluster, ClusterProfile, type NamespacedRef, phases } from '../../../src/api/openmcp.ts';
import type { KubeClient } from '../../../src/kube/client.ts';
import type { ReconcileContext, Result } from '../../../src/kube/controller.ts';
import { type KubeObject, keyOf, type ObjectKey, type ResourceType } from '../../../src/kube/resource.ts';
import type { Clock } from '../../../src/lib/clock.ts';
import { ProviderError } from '../../../src/lib/errors.ts';
import { parseDuration } from './duration.ts';
import { isIgnored } from './triggers.ts';
import { ClusterRequest } from './types.ts';

/** Whether a request is in the hands of any provider at all; while it is, the operator keeps off. */
export function isWithProvider({ metadata, status }: AccessRequest): boolean {
  const { labels, generation } = metadata;
  if (labels?.[openmcp.provider] === undefined || labels[openmcp.profile] === undefined) return false;
  if (status?.phase === phases.pending) return true;
  return status?.phase === phases.granted && status.observedGeneration === generation;
}

/** Whether the operator's generic controller looks at a request: when no provider has it, or when its time may be over. */
export const concernsOperator = (request: AccessRequest): boolean =>
  !isWithProvider(request) || (request.spec?.ttl !== undefined && request.metadata.deletionTimestamp === undefined);

/**
 * What the operator does to an AccessRequest before a provider may: find the Cluster, name provider and profile in
 * labels, set the phase to `Pending` with the current generation — in the end always, even when something failed — and
 * delete it when its time is over.
 */
export async function reconcileAccessRequest(
  kube: KubeClient,
  clock: Clock,
  key: ObjectKey,
  { signal }: ReconcileContext,
): Promise<Result> {
  const request = await kube.find(AccessRequest, key, signal);
  if (!request || isIgnored(request)) return {};
  const isOnlyTimed = isWithProvider(request);
  if (isOnlyTimed && !request.spec?.ttl) return {};
  const current = isOnlyTimed ? request : await takeReconcile(kube, request, signal);
  const left = secondsLeft(current, clock);
  if (left !== undefined && left <= 0) {
    await kube.remove(AccessRequest, key, {}, signal);
    return {};
  }
  const again = left === undefined ? {} : { againInSeconds: left + 1 };
  if (isOnlyTimed) return again;
  let hold = current;
  try {
    hold = await resolve(kube, current, signal);
  } catch (error) {
    await setPending(kube, current, signal);
    throw error;
  }
  await setPending(kube, hold, signal);
  return again;
}

async function takeReconcile(kube: KubeClient, request: AccessRequest, signal: AbortSignal): Promise<AccessRequest> {
  if (request.metadata.annotations?.[openmcp.operation] !== 'reconcile') return request;
  const patch = { metadata: { annotations: { [openmcp.operation]: null } } };
  return await kube.merge(AccessRequest, keyOf(request), patch, {}, signal);
}

/** Until the end of its time, counted from its creation. Undefined when it has no end. */
function secondsLeft({ metadata, spec }: AccessRequest, clock: Clock): number | undefined {
  if (!spec?.ttl || metadata.deletionTimestamp) return undefined;
  const endsAt = Date.parse(metadata.creationTimestamp ?? '') + parseDuration(spec.ttl);
  return (endsAt - clock.now().getTime()) / 1000;
}

/** Fills in clusterRef and the two labels. Labels that say something else are left alone, with a line in the log only. */
async function resolve(kube: KubeClient, request: AccessRequest, signal: AbortSignal): Promise<AccessRequest> {
  const { labels = {} } = request.metadata;
  const isLabelled = labels[openmcp.provider] !== undefined && labels[openmcp.profile] !== undefined;
  if (isLabelled && request.spec?.clusterRef) return request;
  const clusterRef = request.spec?.clusterRef ?? (await clusterOf(kube, request.spec?.requestRef, signal));
  const cluster = await need(kube, Cluster, clusterRef, signal);
  const profile = await need(kube, ClusterProfile, { name: cluster.spec.profile }, signal);
  const wanted = { [openmcp.provider]: profile.spec.providerRef.name, [openmcp.profile]: profile.metadata.name };
  const isInConflict = Object.entries(wanted).some(([name, value]) => (labels[name] ?? value) !== value);
  if (isInConflict) return request;
  const patch = { metadata: { labels: wanted }, spec: { clusterRef } };
  return await kube.merge(AccessRequest, keyOf(request), patch, {}, signal);
}

async function clusterOf(
  kube: KubeClient,
  requestRef: NamespacedRef | undefined,
  signal: AbortSignal,
): Promise<NamespacedRef> {
  if (!requestRef) throw missing('neither clusterRef nor requestRef is set');
  const request = await need(kube, ClusterRequest, requestRef, signal);
  const ref = request.status?.cluster;
  if (request.status?.phase !== phases.granted || !ref)
    throw missing(`ClusterRequest ${requestRef.name} is not granted`);
  return { name: ref.name, namespace: ref.namespace };
}

async function need<T extends KubeObject>(
  kube: KubeClient,
  type: ResourceType<T>,
  key: ObjectKey,
  signal: AbortSignal,
): Promise<T> {
  const found = await kube.find(type, key, signal);
  if (!found) throw missing(`${type.kind} ${key.name} not found`);
  return found;
}

/** Tried again with back-off, as the operator does: it has no watch that would tell it. */
const missing = (detail: string) => new ProviderError('UNREACHABLE', detail);

async function setPending(kube: KubeClient, request: AccessRequest, signal: AbortSignal): Promise<void> {
  const { generation = 0 } = request.metadata;
  const { phase, observedGeneration } = request.status ?? {};
  if (phase === phases.pending && observedGeneration === generation) return;
  const status = { phase: phases.pending, observedGeneration: generation };
  await kube.merge(AccessRequest, keyOf(request), { status }, { subresource: 'status' }, signal);
}
