import { isDeadlineError, withDeadline } from '../../lib/deadline.ts';
import type { KubeClient } from '../client/client.ts';
import { objectPath } from '../client/resource-paths.ts';
import { isNotFound, KubeError } from '../errors.ts';
import { objectKeyOf } from '../resource.ts';
import { Pod } from './kinds.ts';

/**
 * The answer to one eviction.
 *
 * - `ends`: accepted. `gone`: the Pod does not exist, or another one has its name.
 * - `blocked`: a PodDisruptionBudget forbids it. `rejected`: something else does.
 * - `later`: temporary. `overloaded`: also temporary, and further calls make it worse.
 */
export type EvictionAnswer =
  | { readonly kind: 'ends' | 'gone' }
  | { readonly kind: 'blocked' | 'rejected' | 'later' | 'overloaded'; readonly message: string };

export interface PodEviction {
  readonly pod: Pod;
  readonly answer: EvictionAnswer;
}

interface EvictionOptions {
  /** `delete` disregards PodDisruptionBudgets. The grace period is that of the Pod in either case. */
  readonly by: 'eviction' | 'delete';
  readonly signal: AbortSignal;
}

/** Evictions at the same time. Each may take ten seconds on the server, which retries conflicts. */
const maxConcurrent = 10;
/** After this time no further eviction is started in one pass. */
const passSeconds = 10;
/** For all evictions of one pass. */
const maxPassSeconds = 30;

/**
 * Evicts Pods. Those that were not tried, because of time or because the API server does not keep up, are not in the
 * result.
 */
export async function evictPods(
  client: KubeClient,
  pods: readonly Pod[],
  { by, signal }: EvictionOptions,
): Promise<readonly PodEviction[]> {
  const queue = [...pods];
  const evictions: PodEviction[] = [];
  const end = performance.now() + passSeconds * 1000;
  const work = async (limited: AbortSignal): Promise<void> => {
    for (let pod = queue.shift(); pod; pod = queue.shift()) {
      const answer = await evictPod(client, pod, { by, signal: limited });
      // A shutdown is not an answer.
      signal.throwIfAborted();
      evictions.push({ pod, answer });
      if (answer.kind === 'overloaded' || performance.now() > end) queue.length = 0;
    }
  };
  await withDeadline(maxPassSeconds, signal, async (limited) => {
    await Promise.all(Array.from({ length: Math.min(maxConcurrent, pods.length) }, () => work(limited)));
  });
  return evictions;
}

async function evictPod(client: KubeClient, pod: Pod, { by, signal }: EvictionOptions): Promise<EvictionAnswer> {
  const key = objectKeyOf(pod);
  const { uid } = pod.metadata;
  try {
    if (by === 'delete') return { kind: (await client.remove(Pod, key, uid ? { uid } : {}, signal)) ? 'ends' : 'gone' };
    await client.raw(
      'POST',
      objectPath(Pod, key, 'eviction'),
      {
        apiVersion: 'policy/v1',
        kind: 'Eviction',
        metadata: key,
        // Without a grace period that of the Pod applies.
        ...(uid && { deleteOptions: { preconditions: { uid } } }),
      },
      signal,
    );
    return { kind: 'ends' };
  } catch (error) {
    if (error instanceof KubeError) return readEvictionAnswer(error);
    // The time of the pass is over.
    if (isDeadlineError(error)) return { kind: 'overloaded', message: 'The API server has not answered in time' };
    throw error;
  }
}

/** What an error response to an eviction or deletion means (kubernetes: pkg/registry/core/pod/storage/eviction.go). */
export function readEvictionAnswer(error: KubeError): EvictionAnswer {
  const { status, message } = error;
  if (isNotFound(error)) return { kind: 'gone' };
  switch (status) {
    case 0:
      return { kind: 'overloaded', message };
    case 403:
      return readForbidden(error);
    case 409:
      return { kind: 'later', message: 'The pod has changed meanwhile' };
    case 429:
      return readTooManyRequests(error);
    default:
      if (message.includes('more than one PodDisruptionBudget'))
        return { kind: 'blocked', message: 'More than one PodDisruptionBudget selects the pod, and one is allowed' };
      return { kind: status >= 500 ? 'later' : 'rejected', message };
  }
}

/** A refusal because of a budget has a cause; the limit on the rate of requests, with the same code, has none. */
function readTooManyRequests({ causes, message, retryAfterSeconds = 0 }: KubeError): EvictionAnswer {
  const budget = causes.find(({ reason }) => reason === 'DisruptionBudget');
  if (!budget) return { kind: 'overloaded', message };
  // With a time the budget is not evaluated yet; without one it allows nothing.
  return { kind: retryAfterSeconds > 0 ? 'later' : 'blocked', message: budget.message };
}

function readForbidden({ causes, details, message }: KubeError): EvictionAnswer {
  // The namespace controller is about to delete the Pod.
  if (causes.some(({ reason }) => reason === 'NamespaceTerminating'))
    return { kind: 'later', message: 'The namespace is being deleted' };
  return { kind: details.kind?.startsWith('poddisruptionbudget') ? 'blocked' : 'rejected', message };
}
