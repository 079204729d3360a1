import {
  type Condition,
  type ConditionState,
  type ConditionType,
  mergeConditions,
  no,
  type Reason,
  stepReason,
  summarize,
  unknown,
  yes,
} from '../../api/conditions.ts';
import type { HostStatus } from '../../api/host.ts';
import type { HostState } from '../../engine/host.ts';
import { describeStop } from '../step-words.ts';
import { describeRival, judgeTask } from './decide.ts';
import { describeUse, keptOut, permanentErrorOf, restingState, statusOf, toView } from './standing.ts';
import { type HostSight, isAsked, type TaskPlan, taskPlans } from './view.ts';

/** How a Host stands, and why. */
export function describeStatus(sight: HostSight, now: Date): HostStatus {
  const { host, holder, identity } = sight;
  const before = statusOf(host);
  const generation = host.metadata.generation ?? 0;
  const [identified, usable] = [describeIdentified(sight), describeUsable(sight)];
  const running = describeRunning(sight);
  const tasks = [...running, ...describeEnded(sight)];
  const held = host.metadata.deletionTimestamp && holder.kind === 'machine' ? [describeHeld(sight)] : [];
  const ready = summarize([...held, usable, identified, ...running.filter(({ type }) => type === 'Inspected')]);
  const { server: _, task: __, message: ___, ...kept } = before;
  // What steps noted since is newer.
  const server = identity && 'server' in identity && !sight.verdict ? identity.server : before.server;
  const task = taskLeft(sight);
  const state = describeState(sight, identified.status, usable.reason);
  return {
    ...kept,
    observedGeneration: generation,
    state,
    ...(server && { server }),
    ...(task && { task }),
    message: describeMessage(sight, state, [...running, ready]),
    conditions: mergeConditions(before.conditions, [identified, usable, ...held, ...tasks, ready], { generation, now }),
  };
}

function describeMessage({ holder }: HostSight, state: HostState, states: readonly ConditionState[]): string {
  const waiting = states.find(({ status }) => status !== 'True');
  if (waiting) return waiting.message ?? '';
  return describeUse(state, holder.kind === 'machine' ? holder.machine.metadata.name : undefined);
}

/** Reasons of `Usable` for which a Host is not free, whatever is known of its server. */
const failing: ReadonlySet<Reason> = new Set(['MachineGone', 'SameServer', 'InvalidConfig', 'NoUsableDisk']);

function describeState({ host, holder }: HostSight, identified: Condition['status'], reason: Reason): HostState {
  // While a Machine holds it, that one says so.
  if (holder.kind === 'machine') return statusOf(host).state;
  if (failing.has(reason)) return 'Failed';
  return restingState(host, reason === 'NotUsed' ? 'Unknown' : identified);
}

/** What nobody could be asked about this time stays as it was last seen, if it was the same that was asked for. */
function describeIdentified({ host, identity }: HostSight): ConditionState {
  if (identity && 'server' in identity) return yes('Identified');
  if (identity && 'refused' in identity) return no('Identified', 'NotIdentified', identity.refused);
  const known = statusOf(host).conditions.find(({ type }) => type === 'Identified');
  if (known?.status === 'True' && known.observedGeneration === host.metadata.generation) return yes('Identified');
  if (identity) return unknown('Identified', identity.reason, identity.unasked);
  return unknown('Identified', 'NotUsed', 'Nobody was asked for it.');
}

function describeUsable(sight: HostSight): ConditionState {
  const { host, holder, keeper, rival } = sight;
  const error = permanentErrorOf(host);
  if (holder.kind === 'gone') return no('Usable', 'MachineGone', error ?? '');
  if (error !== undefined) return no('Usable', 'PermanentError', error);
  const view = toView(host);
  if (!view) return no('Usable', 'InvalidConfig', 'The spec is not valid. Correct it.');
  if (rival !== undefined) return no('Usable', 'SameServer', describeRival(rival));
  if (!keeper) {
    const message = 'No ProviderConfig uses this Host: no selector of a size fits its labels.';
    return no('Usable', 'NotUsed', message);
  }
  if (host.spec.maintenance) return no('Usable', 'InMaintenance', describeMaintenance(sight));
  const unusable = holder.kind === 'machine' ? undefined : keeper.inventory.whyUnusable(view);
  return unusable === undefined ? yes('Usable') : no('Usable', 'NoUsableDisk', unusable);
}

const describeMaintenance = ({ holder }: HostSight): string =>
  holder.kind === 'machine'
    ? `spec.maintenance: Machine ${holder.machine.metadata.name} holds it, and keeps it until that is deleted.`
    : keptOut;

function describeHeld({ holder }: HostSight): ConditionState {
  const name = holder.kind === 'machine' ? holder.machine.metadata.name : '';
  return no('NotInUse', 'InUse', `Machine ${name} holds it. It goes when that has let it go.`);
}

const conditionOf: Readonly<Record<TaskPlan, ConditionType>> = { inspect: 'Inspected', reboot: 'Rebooted' };

/** What is under way, or waits until it may begin. */
function describeRunning(sight: HostSight): ConditionState[] {
  const { verdict, host } = sight;
  if (verdict && taskLeft(sight)) return [no(conditionOf[verdict.progress.plan], 'StepWaiting', wordsOf(sight))];
  return taskPlans.flatMap((plan) => {
    if (!isAsked(host, plan)) return [];
    const judgement = judgeTask(sight, plan);
    return judgement.kind === 'waits' ? [no(conditionOf[plan], judgement.reason, judgement.message)] : [];
  });
}

/** What has come to its end, one way or another. */
function describeEnded(sight: HostSight): ConditionState[] {
  const { verdict, refusal } = sight;
  if (refusal) return [no(conditionOf[refusal.plan], refusal.reason, refusal.message)];
  if (!verdict || taskLeft(sight)) return [];
  const type = conditionOf[verdict.progress.plan];
  return [verdict.kind === 'finished' ? yes(type) : no(type, endReason(sight), wordsOf(sight))];
}

const endReason = ({ verdict }: HostSight): Reason =>
  verdict?.kind === 'failed' ? stepReason(verdict.reason) : 'Overdue';

/** The task that is gone on with. One that failed or takes too long is over: a person asks again. */
export function taskLeft({ host, verdict }: HostSight): HostStatus['task'] {
  if (!verdict) return statusOf(host).task;
  const goesOn = (verdict.kind === 'waiting' || verdict.kind === 'error') && !verdict.overdue;
  return goesOn ? { ...verdict.progress, facts: { ...verdict.progress.facts } } : undefined;
}

/** Where the task of a Host is, in a sentence that begins with the step. */
export const wordsOf = ({ verdict }: HostSight): string => (verdict && describeStop(verdict)) ?? '';
