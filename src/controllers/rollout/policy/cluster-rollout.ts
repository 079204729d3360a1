import type { Machine } from '../../../api/machine.ts';
import type { Cluster } from '../../../api/openmcp/types.ts';
import { isComparedWith, isInHand, isWaiting } from '../machine-change.ts';

/**
 * How far a cluster has followed its ProviderConfig, as its status records it. `Changing`: a node was changed for this
 * revision, and others may still wait. `Changed`: it went through the change, and all its nodes are healthy with it.
 * `Current`: it is up to date, and no running node had to be changed.
 */
export interface ClusterRollout {
  /** Hash of the ProviderConfig. */
  readonly revision: string;
  readonly state: 'Changing' | 'Changed' | 'Current';
}

const states: readonly ClusterRollout['state'][] = ['Changing', 'Changed', 'Current'];

/** The field of `status.providerStatus`. */
export const clusterRolloutKey = 'rollout';

export function readClusterRollout({ status }: Cluster): ClusterRollout | undefined {
  const found = status?.providerStatus?.[clusterRolloutKey];
  if (typeof found !== 'object' || found === null || !('revision' in found) || !('state' in found)) return undefined;
  const { revision } = found;
  const state = states.find((name) => name === found.state);
  return state && typeof revision === 'string' ? { revision, state } : undefined;
}

/** Whether the cluster needs nothing more for this revision. Later changes of it alone are its own matter. */
export const hasReached = (rollout: ClusterRollout | undefined, revision: string): boolean =>
  rollout?.revision === revision && rollout.state !== 'Changing';

/** The record after a reconcile. `spec`: hash of the ProviderConfig merged with the ClusterConfigs of the cluster. */
export function nextClusterRollout(
  before: ClusterRollout | undefined,
  machines: readonly Machine[],
  { revision, spec }: { readonly revision: string; readonly spec: string },
): ClusterRollout | undefined {
  if (hasReached(before, revision)) return before;
  if (machines.some(isInHand)) return { revision, state: 'Changing' };
  const kept = machines.filter(({ metadata }) => !metadata.deletionTimestamp);
  const isDone = kept.length > 0 && kept.every((one) => isComparedWith(one, spec) && !isWaiting(one));
  if (!isDone) return before;
  // A change may begin and end between two reconciles: then only the Machine shows that there was one.
  const isChanged = before?.revision === revision || kept.some(({ spec }) => spec.releasedFor === revision);
  return { revision, state: isChanged ? 'Changed' : 'Current' };
}
