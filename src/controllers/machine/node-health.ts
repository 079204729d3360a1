import { type ConditionState, conditionFalse, conditionTrue, conditionUnknown } from '../../api/conditions.ts';
import type { Drift } from '../../engine/observation.ts';

/** What is known of the node of a machine that exists and runs. */
interface NodeSigns {
  readonly drift: readonly Drift[];
  /** The API server of the cluster reports the Node as Ready. */
  readonly isReady: boolean;
  /** The API server of the cluster can be asked. */
  readonly isClusterObserved: boolean;
  /** Why the node is not a member of its cluster; undefined if it is. */
  readonly notJoined: string | undefined;
  /** Talos on the node answers; undefined if it was not asked. */
  readonly isReachable: boolean | undefined;
}

/**
 * The condition `NodeHealthy`. It takes several signs to call a node unhealthy: its cluster is asked and misses it, and its
 * platform shows a machine that runs and is as it was made.
 */
export function assessNodeHealth({
  drift,
  isReady,
  isClusterObserved,
  notJoined,
  isReachable,
}: NodeSigns): ConditionState {
  if (isReady && notJoined === undefined) return conditionTrue('NodeHealthy');
  if (!isReady && !isClusterObserved) return unknownHealth('The API server of the cluster does not answer.');
  const cause = drift.find(({ isMinor }) => !isMinor);
  if (cause) return unknownHealth(`Its machine is not as it was made: ${cause.message}`);
  if (isReachable === false) return conditionFalse('NodeHealthy', 'NodeUnreachable', notJoined ?? '');
  const message = notJoined ?? 'Talos on the node works, and its cluster does not report the Node as Ready.';
  return conditionFalse('NodeHealthy', 'NodeNotReady', message);
}

export const unknownHealth = (message: string): ConditionState =>
  conditionUnknown('NodeHealthy', 'NodeNotObserved', message);

/** The machine does not exist. `isLost`: its system disks do not, either. */
export const healthOfMissing = (isLost: boolean | undefined, [cause]: readonly Drift[]): ConditionState =>
  isLost
    ? conditionFalse('NodeHealthy', 'MachineLost', cause?.message ?? '')
    : unknownHealth(cause?.message ?? 'The machine does not exist.');
