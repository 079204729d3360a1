import { type ConditionReason, findFalseCondition } from '../../api/conditions.ts';
import type { Machine } from '../../api/machine.ts';
import { findGateProblem, type GateView } from './health-gate.ts';
import { changeOf, desiredRevision, hasFailed, isInHand, isWaiting } from './machine-change.ts';
import { orderMachines } from './order-machines.ts';
import type { RolloutHold } from './policy/rollout-hold.ts';

export interface RolloutView extends GateView {
  /** Names of the worker pools, in the order of the spec. */
  readonly pools: readonly string[];
  /** Why no further change may begin, whatever the state of the cluster. */
  readonly hold?: RolloutHold | undefined;
}

/** What to do for the Machines that are not up to date. */
export type RolloutDecision =
  | { readonly kind: 'none' }
  /** `until`: when the reason for waiting ends by itself. */
  | {
      readonly kind: 'wait';
      readonly reason: ConditionReason;
      readonly message: string;
      readonly until?: Date | undefined;
    }
  /** Nothing more is changed before a user acts. */
  | { readonly kind: 'failed'; readonly machine: Machine; readonly message: string }
  /**
   * To release one Machine. `candidates`: those that may be next, in their order; of several control planes, etcd's leader
   * is the last. `isResumed`: it is being changed already, and what it is to become has changed meanwhile.
   */
  | { readonly kind: 'update'; readonly candidates: readonly Machine[]; readonly isResumed: boolean };

/** Decides from the view alone. */
export function decideRollout(view: RolloutView): RolloutDecision {
  const machines = orderMachines(view.machines, view);
  const superseded = machines.find((machine) => changeOf(machine) === 'superseded');
  if (superseded) return { kind: 'update', candidates: [superseded], isResumed: true };
  const failed = machines.find(hasFailed);
  if (failed) return describeFailed(failed);
  const changing = machines.filter(isInHand);
  const waiting = machines.filter(isWaiting);
  const [next] = waiting;
  const [first] = changing;
  if (first && (!next || !canJoin(next, changing))) return describeChanging(first);
  if (!next) return { kind: 'none' };
  const stop = findStop(view, next);
  if (stop) return first ? describeChanging(first) : stop;
  const isAlternative = ({ spec }: Machine): boolean =>
    next.spec.role === 'controlplane' && spec.role === next.spec.role;
  const candidates = [next, ...waiting.filter((machine) => machine !== next && isAlternative(machine))];
  return { kind: 'update', candidates, isResumed: false };
}

/** What a Machine is released to. */
export function revisionToRelease(machine: Machine): string {
  const revision = desiredRevision(machine.status);
  if (revision === undefined) throw new Error(`${machine.metadata.name} has no desired revision`);
  return revision;
}

const needsReplacement = ({ status }: Machine): boolean => status?.pending?.class === 'replace';

/** Control planes change alone, and so do Machines that are replaced; pools one after the other. */
const canJoin = (next: Machine, changing: readonly Machine[]): boolean =>
  ![next, ...changing].some(needsReplacement) &&
  next.spec.role === 'worker' &&
  changing.every(({ spec }) => spec.role === 'worker' && spec.pool === next.spec.pool);

function findStop(view: RolloutView, next: Machine): Extract<RolloutDecision, { kind: 'wait' }> | undefined {
  if (view.hold) return { kind: 'wait', ...view.hold };
  const problem = findGateProblem(view, next);
  return problem === undefined ? undefined : { kind: 'wait', reason: 'UpdatePending', message: problem };
}

const describeChanging = (machine: Machine): RolloutDecision => ({
  kind: 'wait',
  reason: 'Updating',
  message: `${machine.metadata.name}: ${stateOf(machine) ?? 'The update begins.'}`,
});

function describeFailed(machine: Machine): RolloutDecision {
  const remedy =
    'No other machine is changed. Correct the ProviderConfig or ClusterConfig, or repair the node; the annotation rollout: retry lets the update begin again.';
  return { kind: 'failed', machine, message: `${machine.metadata.name}: ${stateOf(machine)} ${remedy}` };
}

const stateOf = ({ status }: Machine): string | undefined =>
  findFalseCondition(status?.conditions, 'UpToDate')?.message;
