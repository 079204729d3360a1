import {
  type ConditionReason,
  type ConditionState,
  conditionFalse,
  conditionTrue,
  conditionUnknown,
  mergeConditions,
  summarizeReady,
  toStepReason,
} from '../../api/conditions.ts';
import type { Machine, MachineStatus } from '../../api/machine.ts';
import type { AdvanceResult, Progress } from '../../engine/advance.ts';
import type { Drift } from '../../engine/observation.ts';
import { ProviderError } from '../../lib/errors.ts';
import { describeStepProgress } from '../shared/describe-step-progress.ts';
import type { MachineObservation } from './observe-machine.ts';

/** The steps after which a machine runs its own system and waits only for its cluster. */
const lastJoinStep = 'await-member';

/** The phase of a walk that goes on. */
export const planPhases: Readonly<Record<Progress['plan'], string>> = {
  provision: 'Provisioning',
  release: 'Releasing',
  mend: 'Degraded',
};

/** The status of a Machine after a walk: where it is, why, and since when. `observed` of one that serves its cluster. */
export function describeMachineStatus(
  machine: Machine,
  verdict: AdvanceResult,
  observed: MachineObservation | undefined,
  now: Date,
): MachineStatus {
  const { progress } = verdict;
  const states = describeConditions(verdict, observed);
  const ready = summarizeMachine(states, observed);
  const remark = [
    ...(observed && verdict.kind !== 'finished' ? [describeMachineProgress(verdict)] : []),
    ...(observed?.drift ?? []).map(({ message }) => message),
  ].join(' ');
  const generation = machine.metadata.generation ?? 0;
  return {
    observedGeneration: generation,
    phase: describePhase(verdict, observed, ready.status === 'True'),
    ...(progress.facts['address'] === undefined ? {} : { address: String(progress.facts['address']) }),
    // Written by the controller of the Cluster.
    ...(machine.status?.trust === undefined ? {} : { trust: machine.status.trust }),
    ...lostStatus(machine, observed),
    message: ready.status === 'True' ? remark || 'Runs as it was made.' : (ready.message ?? ''),
    progress: { ...progress, facts: { ...progress.facts } },
    conditions: mergeConditions(machine.status?.conditions ?? [], [...states, ready], { generation, now }),
  };
}

/** What a look has shown stays so until the next that shows anything. */
function lostStatus({ status }: Machine, observed: MachineObservation | undefined): Pick<MachineStatus, 'lost'> {
  const isLost = observed && !observed.unseen ? observed.lost : status?.lost;
  return isLost ? { lost: true } : {};
}

function describePhase(verdict: AdvanceResult, observed: MachineObservation | undefined, ready: boolean): string {
  const serves = observed || verdict.kind === 'finished';
  if (verdict.progress.plan === 'provision' && serves) return ready ? 'Ready' : 'Degraded';
  if (verdict.kind === 'failed' && verdict.progress.plan !== 'mend') return 'Failed';
  return planPhases[verdict.progress.plan];
}

function describeConditions(verdict: AdvanceResult, observed: MachineObservation | undefined): ConditionState[] {
  const { progress } = verdict;
  if (progress.plan === 'release')
    return [conditionFalse('Provisioned', releaseReason(verdict), describeMachineProgress(verdict))];
  if (progress.plan === 'mend') return describeRepair(verdict, observed);
  const [reason, message] = [describeReason(verdict), describeMachineProgress(verdict)];
  if (!observed && verdict.kind !== 'finished') {
    if (progress.step !== lastJoinStep)
      return [
        conditionFalse('Provisioned', reason, message),
        conditionUnknown('Joined', reason, 'Not provisioned yet.'),
      ];
    return [conditionTrue('Provisioned'), conditionFalse('Joined', reason, message)];
  }
  return describeObservation(verdict, observed);
}

/** What is amiss, and how far it is with that. */
function describeRepair(verdict: AdvanceResult, observed: MachineObservation | undefined): ConditionState[] {
  const states = describeObservation(verdict, observed);
  const [reason] = reasonAndMessage(observed?.drift ?? []);
  const stopped = describeReason(verdict);
  const named = stopped === 'StepWaiting' || stopped === 'StepError' ? reason : stopped;
  const message = `${reasonAndMessage(observed?.drift ?? [])[1]} ${describeMachineProgress(verdict)}`.trim();
  return states.map((state) => (state.type === 'Healthy' ? conditionFalse('Healthy', named, message) : state));
}

function describeObservation(verdict: AdvanceResult, observed: MachineObservation | undefined): ConditionState[] {
  return [
    observed?.gone ? conditionFalse('Provisioned', ...reasonAndMessage(observed.drift)) : conditionTrue('Provisioned'),
    describeHealth(verdict, observed),
    observed?.notJoined ? conditionFalse('Joined', 'StepWaiting', observed.notJoined) : conditionTrue('Joined'),
  ];
}

/** The reason of what matters most, and all that there is to say. */
const reasonAndMessage = (drift: readonly Drift[]): [ConditionReason, string] => [
  toStepReason(drift[0]?.reason ?? 'InternalError'),
  drift.map(({ message }) => message).join(' '),
];

/** What is told of a machine that serves all the same, or is yet to be put right there, does not make it less ready. */
function summarizeMachine(states: readonly ConditionState[], observed: MachineObservation | undefined): ConditionState {
  const minor = observed?.drift.every((one) => one.minor) ?? false;
  return summarizeReady(minor ? states.filter(({ type }) => type !== 'Healthy') : states);
}

/** What is amiss there; else, of a member, what its platform still has to put right. */
function describeHealth(verdict: AdvanceResult, observed: MachineObservation | undefined): ConditionState {
  if (observed?.drift.length) return conditionFalse('Healthy', ...reasonAndMessage(observed.drift));
  if (verdict.kind === 'finished') return conditionTrue('Healthy');
  return conditionFalse('Healthy', describeReason(verdict), describeMachineProgress(verdict));
}

function describeReason(verdict: AdvanceResult): ConditionReason {
  if ('reason' in verdict && verdict.reason !== undefined) return toStepReason(verdict.reason);
  if ('overdue' in verdict && verdict.overdue) return 'Overdue';
  if (verdict.kind === 'error') return verdict.error instanceof ProviderError ? 'StepError' : 'InternalError';
  return 'StepWaiting';
}

/** That of what it waits for, where somebody may have to see to that. */
const releaseReason = (verdict: AdvanceResult): ConditionReason =>
  'reason' in verdict && verdict.reason !== undefined ? toStepReason(verdict.reason) : 'Releasing';

/** What it is doing or waits for, in a sentence that begins with the step. */
export function describeMachineProgress(verdict: AdvanceResult): string {
  const words = describeStepProgress(verdict) ?? 'All steps are done.';
  return verdict.kind === 'error' ? `${words} Tried ${formatTimes(verdict.progress.failures)}.` : words;
}

const formatTimes = (count: number): string => (count === 1 ? 'once' : `${count} times`);
