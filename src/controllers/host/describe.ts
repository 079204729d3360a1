import {
  type Condition,
  type ConditionReason,
  type ConditionState,
  type ConditionType,
  conditionFalse,
  conditionTrue,
  conditionUnknown,
  mergeConditions,
  summarizeReady,
  toStepReason,
} from '../../api/conditions.ts';
import type { HostStatus } from '../../api/host.ts';
import type { HostState } from '../../engine/host.ts';
import { describeStepProgress } from '../shared/describe-step-progress.ts';
import {
  describeHostUse,
  hostStatusOf,
  maintenanceMessage,
  permanentErrorOf,
  stateWithoutHolder,
  toHostView,
} from './availability.ts';
import { assessTask, describeDuplicateHost } from './decide.ts';
import { type HostSnapshot, type HostTaskKind, hostTaskKinds, isTaskRequested } from './view.ts';

/** The status of a Host. */
export function describeHostStatus(sight: HostSnapshot, now: Date): HostStatus {
  const { host, holder, identity } = sight;
  const before = hostStatusOf(host);
  const generation = host.metadata.generation ?? 0;
  const [identified, usable] = [describeIdentified(sight), describeUsable(sight)];
  const running = describeRunningTasks(sight);
  const tasks = [...running, ...describeEndedTask(sight)];
  const held = host.metadata.deletionTimestamp && holder.kind === 'machine' ? [describeInUse(sight)] : [];
  const ready = summarizeReady([...held, usable, identified, ...running.filter(({ type }) => type === 'Inspected')]);
  const { server: _, task: __, message: ___, ...kept } = before;
  // The facts of steps in this reconcile are newer.
  const server = identity && 'server' in identity && !sight.verdict ? identity.server : before.server;
  const task = remainingTask(sight);
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

function describeMessage({ holder }: HostSnapshot, state: HostState, states: readonly ConditionState[]): string {
  const waiting = states.find(({ status }) => status !== 'True');
  if (waiting) return waiting.message ?? '';
  return describeHostUse(state, holder.kind === 'machine' ? holder.machine.metadata.name : undefined);
}

/** Reasons of `Usable` with which a Host is not available, even if its server is identified. */
const failedReasons: ReadonlySet<ConditionReason> = new Set([
  'MachineGone',
  'SameServer',
  'InvalidConfig',
  'NoUsableDisk',
]);

function describeState(
  { host, holder }: HostSnapshot,
  identified: Condition['status'],
  reason: ConditionReason,
): HostState {
  // The holding Machine writes the state.
  if (holder.kind === 'machine') return hostStatusOf(host).state;
  if (failedReasons.has(reason)) return 'Failed';
  return stateWithoutHolder(host, reason === 'NotUsed' ? 'Unknown' : identified);
}

/** If the provider could not be asked, the last result stays, as long as it applies to the same spec. */
function describeIdentified({ host, identity }: HostSnapshot): ConditionState {
  if (identity && 'server' in identity) return conditionTrue('Identified');
  if (identity && 'refused' in identity) return conditionFalse('Identified', 'NotIdentified', identity.refused);
  const known = hostStatusOf(host).conditions.find(({ type }) => type === 'Identified');
  if (known?.status === 'True' && known.observedGeneration === host.metadata.generation)
    return conditionTrue('Identified');
  if (identity) return conditionUnknown('Identified', identity.reason, identity.unasked);
  return conditionUnknown('Identified', 'NotUsed', 'Nobody was asked for it.');
}

function describeUsable(sight: HostSnapshot): ConditionState {
  const { host, holder, keeper, rival } = sight;
  const error = permanentErrorOf(host);
  if (holder.kind === 'gone') return conditionFalse('Usable', 'MachineGone', error ?? '');
  if (error !== undefined) return conditionFalse('Usable', 'PermanentError', error);
  const view = toHostView(host);
  if (!view) return conditionFalse('Usable', 'InvalidConfig', 'The spec is not valid. Correct it.');
  if (rival !== undefined) return conditionFalse('Usable', 'SameServer', describeDuplicateHost(rival));
  if (!keeper) {
    const message = 'No ProviderConfig uses this Host: no selector of a size fits its labels.';
    return conditionFalse('Usable', 'NotUsed', message);
  }
  if (host.spec.maintenance) return conditionFalse('Usable', 'InMaintenance', describeMaintenance(sight));
  const unusable = holder.kind === 'machine' ? undefined : keeper.inventory.whyUnusable(view);
  return unusable === undefined ? conditionTrue('Usable') : conditionFalse('Usable', 'NoUsableDisk', unusable);
}

const describeMaintenance = ({ holder }: HostSnapshot): string =>
  holder.kind === 'machine'
    ? `spec.maintenance: Machine ${holder.machine.metadata.name} holds it, and keeps it until that is deleted.`
    : maintenanceMessage;

function describeInUse({ holder }: HostSnapshot): ConditionState {
  const name = holder.kind === 'machine' ? holder.machine.metadata.name : '';
  return conditionFalse('NotInUse', 'InUse', `Machine ${name} holds it. It goes when that has let it go.`);
}

const taskConditionTypes: Readonly<Record<HostTaskKind, ConditionType>> = { inspect: 'Inspected', reboot: 'Rebooted' };

/** Tasks that run or wait for their start. */
function describeRunningTasks(sight: HostSnapshot): ConditionState[] {
  const { verdict, host } = sight;
  if (verdict && remainingTask(sight))
    return [conditionFalse(taskConditionTypes[verdict.progress.plan], 'StepWaiting', describeTaskProgress(sight))];
  return hostTaskKinds.flatMap((plan) => {
    if (!isTaskRequested(host, plan)) return [];
    const judgement = assessTask(sight, plan);
    return judgement.kind === 'waits'
      ? [conditionFalse(taskConditionTypes[plan], judgement.reason, judgement.message)]
      : [];
  });
}

/** Tasks that have finished or failed. */
function describeEndedTask(sight: HostSnapshot): ConditionState[] {
  const { verdict, refusal } = sight;
  if (refusal) return [conditionFalse(taskConditionTypes[refusal.plan], refusal.reason, refusal.message)];
  if (!verdict || remainingTask(sight)) return [];
  const type = taskConditionTypes[verdict.progress.plan];
  return [
    verdict.kind === 'finished'
      ? conditionTrue(type)
      : conditionFalse(type, taskEndReason(sight), describeTaskProgress(sight)),
  ];
}

const taskEndReason = ({ verdict }: HostSnapshot): ConditionReason =>
  verdict?.kind === 'failed' ? toStepReason(verdict.reason) : 'Overdue';

/** The task to continue. A failed or timed-out task is over: the user requests it again. */
export function remainingTask({ host, verdict }: HostSnapshot): HostStatus['task'] {
  if (!verdict) return hostStatusOf(host).task;
  const goesOn = (verdict.kind === 'waiting' || verdict.kind === 'error') && !verdict.overdue;
  return goesOn ? { ...verdict.progress, facts: { ...verdict.progress.facts } } : undefined;
}

/** The progress of a task, as a sentence that begins with the step name. */
export const describeTaskProgress = ({ verdict }: HostSnapshot): string =>
  (verdict && describeStepProgress(verdict)) ?? '';
