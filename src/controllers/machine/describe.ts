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
import { isExternalMachine, type Machine, type MachineStatus } from '../../api/machine.ts';
import type { AdvanceResult, Progress } from '../../engine/advance.ts';
import type { Drift } from '../../engine/observation.ts';
import { ProviderError } from '../../lib/errors.ts';
import { describeStepProgress } from '../shared/describe-step-progress.ts';
import { configurationStatus, describeUpToDate } from './configuration/describe-configuration.ts';
import { isMaintenancePlan } from './is-provisioned.ts';
import type { MachineObservation } from './observe-machine.ts';

/** The last provisioning step: the node runs its installed system and waits to join its cluster. */
const lastJoinStep = 'await-member';

/** The phase of each plan while its steps run. */
export const planPhases: Readonly<Record<Progress['plan'], string>> = {
  provision: 'Provisioning',
  release: 'Releasing',
  repair: 'Degraded',
  update: 'Updating',
};

/** The status of a Machine after its steps have run. `observed` is set for a provisioned Machine. */
export function describeMachineStatus(
  machine: Machine,
  verdict: AdvanceResult,
  observed: MachineObservation | undefined,
  now: Date,
): MachineStatus {
  const { progress } = verdict;
  const states = describeConditions(verdict, observed);
  const ready = summarizeMachine(states, observed);
  const upToDate = describeUpToDate(machine, verdict, observed ?? {});
  const note = [
    ...(observed && verdict.kind !== 'finished' ? [describeMachineProgress(verdict)] : []),
    ...(observed?.drift ?? []).map(({ message }) => message),
  ].join(' ');
  const generation = machine.metadata.generation ?? 0;
  return {
    observedGeneration: generation,
    phase: describePhase(verdict, observed, ready.status === 'True'),
    ...(progress.facts['address'] === undefined ? {} : { address: String(progress.facts['address']) }),
    // The Cluster controller writes this field.
    ...(machine.status?.trust === undefined ? {} : { trust: machine.status.trust }),
    ...lostStatus(machine, observed),
    ...configurationStatus(machine, observed ?? {}),
    message: ready.status === 'True' ? note || describeRest(machine) : (ready.message ?? ''),
    progress: { ...progress, facts: { ...progress.facts } },
    conditions: mergeConditions(
      machine.status?.conditions ?? [],
      [...states, ready, ...(observed?.nodeHealth ? [observed.nodeHealth] : []), ...(upToDate ? [upToDate] : [])],
      { generation, now },
    ),
  };
}

/** The result of an observation stays until the next successful observation. */
function lostStatus({ status }: Machine, observed: MachineObservation | undefined): Pick<MachineStatus, 'lost'> {
  const isLost = observed && !observed.isUnobservable ? observed.isLost : status?.lost;
  return isLost ? { lost: true } : {};
}

function describePhase(verdict: AdvanceResult, observed: MachineObservation | undefined, ready: boolean): string {
  const serves = observed || verdict.kind === 'finished';
  if (verdict.progress.plan === 'provision' && serves) return ready ? 'Ready' : 'Degraded';
  if (verdict.kind === 'failed' && !isMaintenancePlan(verdict.progress.plan)) return 'Failed';
  return planPhases[verdict.progress.plan];
}

function describeConditions(verdict: AdvanceResult, observed: MachineObservation | undefined): ConditionState[] {
  const { progress } = verdict;
  if (progress.plan === 'release')
    return [conditionFalse('Provisioned', releaseReason(verdict), describeMachineProgress(verdict))];
  if (progress.plan === 'repair') return describeRepair(verdict, observed);
  if (progress.plan === 'update') return describeObservation({ kind: 'finished', progress }, observed);
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

/** The drift and the progress of its repair. */
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
    observed?.isGone
      ? conditionFalse('Provisioned', ...reasonAndMessage(observed.drift))
      : conditionTrue('Provisioned'),
    describeHealth(verdict, observed),
    observed?.notJoined ? conditionFalse('Joined', 'StepWaiting', observed.notJoined) : conditionTrue('Joined'),
  ];
}

/** The reason of the most important drift and the messages of all. */
const reasonAndMessage = (drift: readonly Drift[]): [ConditionReason, string] => [
  toStepReason(drift[0]?.reason ?? 'InternalError'),
  drift.map(({ message }) => message).join(' '),
];

/** Minor drift, and drift whose repair waits, does not change the readiness of a Machine that works. */
function summarizeMachine(states: readonly ConditionState[], observed: MachineObservation | undefined): ConditionState {
  const minor = observed?.drift.every((one) => one.isMinor) ?? false;
  return summarizeReady(minor ? states.filter(({ type }) => type !== 'Healthy') : states);
}

/** The drift; without any, the pending work of the platform on a Machine that has joined. */
function describeHealth(verdict: AdvanceResult, observed: MachineObservation | undefined): ConditionState {
  if (observed?.drift.length) return conditionFalse('Healthy', ...reasonAndMessage(observed.drift));
  if (verdict.kind === 'finished') return conditionTrue('Healthy');
  return conditionFalse('Healthy', describeReason(verdict), describeMachineProgress(verdict));
}

/** Of a Machine that is ready and lacks nothing. */
const describeRest = (machine: Machine): string =>
  isExternalMachine(machine) ? 'Runs. Others manage it.' : 'Runs as it was made.';

function describeReason(verdict: AdvanceResult): ConditionReason {
  if ('reason' in verdict && verdict.reason !== undefined) return toStepReason(verdict.reason);
  if ('overdue' in verdict && verdict.overdue) return 'Overdue';
  if (verdict.kind === 'error') return verdict.error instanceof ProviderError ? 'StepError' : 'InternalError';
  return 'StepWaiting';
}

/** The reason of the waiting step, where a user may have to act. */
const releaseReason = (verdict: AdvanceResult): ConditionReason =>
  'reason' in verdict && verdict.reason !== undefined ? toStepReason(verdict.reason) : 'Releasing';

/** What the current step does or waits for, as a sentence that begins with the step name. */
export function describeMachineProgress(verdict: AdvanceResult): string {
  const text = describeStepProgress(verdict) ?? 'All steps are done.';
  return verdict.kind === 'error' ? `${text} Tried ${formatTimes(verdict.progress.failures)}.` : text;
}

const formatTimes = (count: number): string => (count === 1 ? 'once' : `${count} times`);
