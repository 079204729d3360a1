import { type Condition, isConditionTrue } from '../../api/conditions.ts';
import type { Machine } from '../../api/machine.ts';
import { type Cluster, externalEndpointUrl } from '../../api/openmcp/types.ts';
import type { CauseJson, ClusterHealth } from '../api-types.ts';
import { shorten } from './status-sources.ts';

export interface ClusterAssessment {
  readonly health: ClusterHealth;
  readonly cause?: CauseJson;
  /** A user has to look at it: it does not get better by waiting. */
  readonly isProblem: boolean;
}

/** Reasons of conditions that are false while everything goes as planned. */
const expectedReasons: ReadonlySet<string> = new Set(['UpdatePending', 'Updating']);

/**
 * The health of a Cluster from its conditions. One that was never reachable is in creation, one that was and is not ready
 * is unhealthy. A machine that failed, is overdue or
 * waits for something that is missing makes a creation a problem.
 */
export function assessCluster({ metadata, status }: Cluster, machines: readonly Machine[]): ClusterAssessment {
  const conditions = status?.conditions ?? [];
  const ready = conditions.find(({ type }) => type === 'Ready');
  if (metadata.deletionTimestamp) return withCause('deleting', toCause(firstFalse(conditions)), false);
  if (ready?.status === 'True') {
    const problem = firstFalse(conditions);
    return problem ? withCause('attention', toCause(problem), true) : { health: 'ready', isProblem: false };
  }
  const stuck = machines.find(isStuckMachine);
  const cause = (stuck && describeStuckMachine(stuck)) ?? toCause(ready);
  const wasReady = externalEndpointUrl({ metadata, status } as Cluster) !== undefined;
  return wasReady ? withCause('unhealthy', toCause(ready), true) : withCause('creating', cause, stuck !== undefined);
}

/** Since when a Cluster has its health, as far as a condition tells. */
export function findHealthStart({ metadata, status }: Cluster, cause: CauseJson | undefined): string | undefined {
  const ready = status?.conditions?.find(({ type }) => type === 'Ready')?.lastTransitionTime;
  return metadata.deletionTimestamp ?? cause?.since ?? ready ?? metadata.creationTimestamp;
}

const withCause = (health: ClusterHealth, cause: CauseJson | undefined, isProblem: boolean): ClusterAssessment => ({
  health,
  isProblem,
  ...(cause ? { cause } : {}),
});

/** Not `Ready` itself, which repeats another one. */
export const firstFalse = (conditions: readonly Condition[]): Condition | undefined =>
  conditions.find(({ type, status, reason }) => type !== 'Ready' && status === 'False' && !expectedReasons.has(reason));

export const toCause = (condition: Condition | undefined): CauseJson | undefined =>
  condition && {
    reason: condition.reason,
    message: shorten(condition.message),
    since: condition.lastTransitionTime,
  };

/** The condition that explains why a machine is not ready; undefined if it is. */
export const machineCause = ({ status }: Machine): CauseJson | undefined => {
  const conditions = status?.conditions ?? [];
  if (isConditionTrue(conditions, 'Ready')) return toCause(firstFalse(conditions));
  return toCause(conditions.find(({ type, status: state }) => type === 'Ready' && state !== 'True'));
};

export const isOverdue = ({ status }: Machine): boolean =>
  status?.conditions?.some(({ status: state, reason }) => state === 'False' && reason === 'Overdue') ?? false;

/** Reasons of a machine whose steps go on by themselves. A step has another one where a user may have to act. */
const passingReasons: ReadonlySet<string> = new Set(['StepWaiting', 'StepError', 'AsExpected']);

export function isStuckMachine(machine: Machine): boolean {
  if (machine.status?.phase === 'Failed' || isOverdue(machine)) return true;
  const cause = machineCause(machine);
  return cause !== undefined && !passingReasons.has(cause.reason);
}

function describeStuckMachine(machine: Machine): CauseJson | undefined {
  const cause = machineCause(machine);
  return cause && { ...cause, message: shorten(`${machine.metadata.name}: ${cause.message}`) };
}
