import type { KubeClient } from '../client/client.ts';
import { formatObjectKey, type ObjectKey } from '../resource.ts';
import { listAttachedVolumes } from './attached-volumes.ts';
import { ensureCordon } from './cordon.ts';
import { count, type DrainRemainder, describeRemainder, listNames } from './describe-drain.ts';
import { evictPods, type PodEviction } from './evict-pods.ts';
import { DaemonSet, Pod } from './kinds.ts';
import { type DrainPlan, daemonSetOf, isFinished, planDrain } from './plan-drain.ts';

export { cordonNode, uncordonNode } from './cordon.ts';

export interface DrainPolicy {
  /** Minutes after the beginning of the drain. Then `onTimeout` applies. */
  readonly timeoutMinutes: number;
  /** `Wait`: keep trying, and say so. `Force`: pods that cannot be evicted are deleted. */
  readonly onTimeout: 'Wait' | 'Force';
}

export interface DrainRequest {
  readonly node: string;
  readonly policy: DrainPolicy;
  /** When the drain began, for the timeout. */
  readonly startedAt: Date;
  readonly now: Date;
  /**
   * The kubelet does not answer (Node Ready is Unknown): pods are not waited for, as they cannot report their end. After
   * the timeout, pods that cannot be evicted are deleted with any policy: Kubernetes itself deletes them after five
   * minutes, without regard to PodDisruptionBudgets.
   */
  readonly isUnreachable: boolean;
  readonly signal: AbortSignal;
}

/**
 * `waiting.message` names the blocking PodDisruptionBudgets and pods, bounded. `reason` is UpperCamelCase: DrainBlocked
 * (a PodDisruptionBudget), Draining, DrainTimedOut, VolumesAttached.
 */
export type DrainResult =
  | { readonly kind: 'drained' }
  | { readonly kind: 'waiting'; readonly reason: string; readonly message: string };

/** DaemonSets whose existence is checked in one pass. The Pods of others stay. */
const maxDaemonSets = 100;
/** A kubelet reports the end of a Pod this long after its grace period, at the latest. */
const endReportSeconds = 60;

/**
 * One pass: cordons, evicts what may be evicted, and says what it waits for. Never sleeps, bounded in calls and time.
 * Nothing is remembered between two passes, so that another process can make the next one. Throws a KubeError when the
 * API server does not answer.
 */
export async function drainNode(client: KubeClient, request: DrainRequest): Promise<DrainResult> {
  const { signal } = request;
  const node = await ensureCordon(client, request.node, signal);
  // Kubernetes removes the Pods of a Node that does not exist.
  if (!node) return { kind: 'drained' };
  const { items: pods } = await client.list(Pod, { fieldSelector: `spec.nodeName=${request.node}` }, signal);
  const plan = planDrain(pods, await findMissingDaemonSets(client, pods, signal));
  const by = mayDelete(request) ? 'delete' : 'eviction';
  const evictions = await evictPods(client, plan.evict, { by, signal });
  const waiting = decideWait(request, remainderOf(request, plan, evictions));
  if (waiting) return waiting;
  // A kubelet that is away cannot unmount, and the limit of the wait for volumes is that of the whole drain.
  if (request.isUnreachable || isTimedOut(request)) return { kind: 'drained' };
  const volumes = await listAttachedVolumes(client, { node, staying: plan.staying }, signal);
  if (volumes.length === 0) return { kind: 'drained' };
  const message = `The pods have left node ${request.node}. Still attached: ${count(volumes.length, 'volume')} (${listNames(volumes)}).`;
  return { kind: 'waiting', reason: 'VolumesAttached', message };
}

const isTimedOut = ({ policy, startedAt, now }: DrainRequest): boolean =>
  now.getTime() - startedAt.getTime() >= policy.timeoutMinutes * 60_000;

const mayDelete = (request: DrainRequest): boolean =>
  isTimedOut(request) && (request.policy.onTimeout === 'Force' || request.isUnreachable);

/** What has to be waited for after the evictions. */
export function remainderOf(
  request: DrainRequest,
  { evict, ending }: DrainPlan,
  evictions: readonly PodEviction[],
): DrainRemainder {
  const tried = new Set(evictions.map(({ pod }) => pod));
  const accepted = evictions.filter(({ answer }) => answer.kind === 'ends').map(({ pod }) => pod);
  return {
    refused: evictions.filter(({ answer }) => answer.kind !== 'ends' && answer.kind !== 'gone'),
    ending: [...ending, ...accepted].filter((pod) => isAwaited(request, pod)),
    untried: evict.filter((pod) => !tried.has(pod)),
  };
}

/** Whether the end of a Pod that is being deleted is waited for. */
function isAwaited(request: DrainRequest, pod: Pod): boolean {
  if (request.isUnreachable) return false;
  const { deletionTimestamp } = pod.metadata;
  // A finished Pod is removed with the eviction.
  if (deletionTimestamp === undefined) return !isFinished(pod);
  if (!mayDelete(request)) return true;
  // The time includes the grace period. A Pod that is there long after it is held by a finalizer or does not end.
  return request.now.getTime() < Date.parse(deletionTimestamp) + endReportSeconds * 1000;
}

/** Undefined when nothing is left to wait for. */
export function decideWait(request: DrainRequest, remainder: DrainRemainder): DrainResult | undefined {
  const { refused, ending, untried } = remainder;
  if (refused.length + ending.length + untried.length === 0) return undefined;
  const isBlocked = refused.some(({ answer }) => answer.kind === 'blocked' || answer.kind === 'rejected');
  const text = describeRemainder(remainder);
  if (isTimedOut(request)) {
    const { timeoutMinutes } = request.policy;
    const message = `Node ${request.node} is not drained after ${count(timeoutMinutes, 'minute')}, and it goes on. ${text}`;
    return { kind: 'waiting', reason: 'DrainTimedOut', message };
  }
  if (!isBlocked)
    return { kind: 'waiting', reason: 'Draining', message: `Node ${request.node} is being drained. ${text}` };
  const message = `Pods cannot leave node ${request.node}, and it is tried again. ${text}`;
  return { kind: 'waiting', reason: 'DrainBlocked', message };
}

async function findMissingDaemonSets(
  client: KubeClient,
  pods: readonly Pod[],
  signal: AbortSignal,
): Promise<ReadonlySet<string>> {
  const owners = new Map<string, ObjectKey>();
  for (const pod of pods) {
    const owner = daemonSetOf(pod);
    if (owner && owners.size < maxDaemonSets) owners.set(formatObjectKey(owner), owner);
  }
  const found = await Promise.all(
    [...owners].map(async ([id, key]) => ((await client.find(DaemonSet, key, signal)) ? [] : [id])),
  );
  return new Set(found.flat());
}
