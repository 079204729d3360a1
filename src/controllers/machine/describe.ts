import {
  type ConditionState,
  mergeConditions,
  no,
  type Reason,
  stepReason,
  summarize,
  unknown,
  yes,
} from '../../api/conditions.ts';
import type { Machine, MachineStatus } from '../../api/machine.ts';
import type { Progress, Verdict } from '../../engine/advance.ts';
import type { Drift } from '../../engine/observation.ts';
import { ProviderError } from '../../lib/errors.ts';
import { describeStop } from '../step-words.ts';
import type { Observed } from './observe.ts';

/** The steps after which a machine runs its own system and waits only for its cluster. */
const lastStep = 'await-member';

/** The phase of a walk that goes on. */
export const phases: Readonly<Record<Progress['plan'], string>> = {
  provision: 'Provisioning',
  release: 'Releasing',
  mend: 'Degraded',
};

/** The status of a Machine after a walk: where it is, why, and since when. `observed` of one that serves its cluster. */
export function describeStatus(
  machine: Machine,
  verdict: Verdict,
  observed: Observed | undefined,
  now: Date,
): MachineStatus {
  const { progress } = verdict;
  const states = describeStates(verdict, observed);
  const ready = summarizeMachine(states, observed);
  const remark = [
    ...(observed && verdict.kind !== 'finished' ? [describeMessage(verdict)] : []),
    ...(observed?.drift ?? []).map(({ message }) => message),
  ].join(' ');
  const generation = machine.metadata.generation ?? 0;
  return {
    observedGeneration: generation,
    phase: describePhase(verdict, observed, ready.status === 'True'),
    ...(progress.facts['address'] === undefined ? {} : { address: String(progress.facts['address']) }),
    // Written by the controller of the Cluster.
    ...(machine.status?.trust === undefined ? {} : { trust: machine.status.trust }),
    ...lostOf(machine, observed),
    message: ready.status === 'True' ? remark || 'Runs as it was made.' : (ready.message ?? ''),
    progress: { ...progress, facts: { ...progress.facts } },
    conditions: mergeConditions(machine.status?.conditions ?? [], [...states, ready], { generation, now }),
  };
}

/** What a look has shown stays so until the next that shows anything. */
function lostOf({ status }: Machine, observed: Observed | undefined): Pick<MachineStatus, 'lost'> {
  const isLost = observed && !observed.unseen ? observed.lost : status?.lost;
  return isLost ? { lost: true } : {};
}

function describePhase(verdict: Verdict, observed: Observed | undefined, ready: boolean): string {
  const serves = observed || verdict.kind === 'finished';
  if (verdict.progress.plan === 'provision' && serves) return ready ? 'Ready' : 'Degraded';
  if (verdict.kind === 'failed' && verdict.progress.plan !== 'mend') return 'Failed';
  return phases[verdict.progress.plan];
}

function describeStates(verdict: Verdict, observed: Observed | undefined): ConditionState[] {
  const { progress } = verdict;
  if (progress.plan === 'release') return [no('Provisioned', releaseReason(verdict), describeMessage(verdict))];
  if (progress.plan === 'mend') return describeMend(verdict, observed);
  const [reason, message] = [describeReason(verdict), describeMessage(verdict)];
  if (!observed && verdict.kind !== 'finished') {
    if (progress.step !== lastStep)
      return [no('Provisioned', reason, message), unknown('Joined', reason, 'Not provisioned yet.')];
    return [yes('Provisioned'), no('Joined', reason, message)];
  }
  return describeObserved(verdict, observed);
}

/** What is amiss, and how far it is with that. */
function describeMend(verdict: Verdict, observed: Observed | undefined): ConditionState[] {
  const states = describeObserved(verdict, observed);
  const [reason] = told(observed?.drift ?? []);
  const stopped = describeReason(verdict);
  const named = stopped === 'StepWaiting' || stopped === 'StepError' ? reason : stopped;
  const message = `${told(observed?.drift ?? [])[1]} ${describeMessage(verdict)}`.trim();
  return states.map((state) => (state.type === 'Healthy' ? no('Healthy', named, message) : state));
}

function describeObserved(verdict: Verdict, observed: Observed | undefined): ConditionState[] {
  return [
    observed?.gone ? no('Provisioned', ...told(observed.drift)) : yes('Provisioned'),
    describeHealth(verdict, observed),
    observed?.notJoined ? no('Joined', 'StepWaiting', observed.notJoined) : yes('Joined'),
  ];
}

/** The reason of what matters most, and all that there is to say. */
const told = (drift: readonly Drift[]): [Reason, string] => [
  stepReason(drift[0]?.reason ?? 'InternalError'),
  drift.map(({ message }) => message).join(' '),
];

/** What is told of a machine that serves all the same, or is yet to be put right there, does not make it less ready. */
function summarizeMachine(states: readonly ConditionState[], observed: Observed | undefined): ConditionState {
  const minor = observed?.drift.every((one) => one.minor) ?? false;
  return summarize(minor ? states.filter(({ type }) => type !== 'Healthy') : states);
}

/** What is amiss there; else, of a member, what its platform still has to put right. */
function describeHealth(verdict: Verdict, observed: Observed | undefined): ConditionState {
  if (observed?.drift.length) return no('Healthy', ...told(observed.drift));
  if (verdict.kind === 'finished') return yes('Healthy');
  return no('Healthy', describeReason(verdict), describeMessage(verdict));
}

function describeReason(verdict: Verdict): Reason {
  if ('reason' in verdict && verdict.reason !== undefined) return stepReason(verdict.reason);
  if ('overdue' in verdict && verdict.overdue) return 'Overdue';
  if (verdict.kind === 'error') return verdict.error instanceof ProviderError ? 'StepError' : 'InternalError';
  return 'StepWaiting';
}

/** That of what it waits for, where somebody may have to see to that. */
const releaseReason = (verdict: Verdict): Reason =>
  'reason' in verdict && verdict.reason !== undefined ? stepReason(verdict.reason) : 'Releasing';

/** What it is doing or waits for, in a sentence that begins with the step. */
export function describeMessage(verdict: Verdict): string {
  const words = describeStop(verdict) ?? 'All steps are done.';
  return verdict.kind === 'error' ? `${words} Tried ${times(verdict.progress.failures)}.` : words;
}

const times = (count: number): string => (count === 1 ? 'once' : `${count} times`);
