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
  describeInvalidSpec,
  hostStatusOf,
  maintenanceMessage,
  permanentErrorOf,
  stateWithoutHolder,
  toHostView,
} from './availability.ts';
import { assessTask, describeDuplicateHost } from './decide.ts';
import { type HostSnapshot, type HostTaskKind, hostTaskKinds, isTaskRequested } from './view.ts';

/** The status of a Host. */
export function describeHostStatus(snapshot: HostSnapshot, now: Date): HostStatus {
  const { host, holder, identity } = snapshot;
  const before = hostStatusOf(host);
  const generation = host.metadata.generation ?? 0;
  const [identified, usable] = [describeIdentified(snapshot), describeUsable(snapshot)];
  const running = describeRunningTasks(snapshot);
  const tasks = [...running, ...describeEndedTask(snapshot)];
  const held = host.metadata.deletionTimestamp && holder.kind === 'machine' ? [describeInUse(snapshot)] : [];
  const ready = summarizeReady([...held, usable, identified, ...running.filter(({ type }) => type === 'Inspected')]);
  const { server: _, task: __, message: ___, ...kept } = before;
  // The facts of steps in this reconcile are newer.
  const server = identity && 'server' in identity && !snapshot.identification ? identity.server : before.server;
  const task = remainingTask(snapshot);
  const state = describeState(snapshot, identified.status, usable.reason);
  return {
    ...kept,
    observedGeneration: generation,
    state,
    ...(server && { server }),
    ...(task && { task }),
    message: describeMessage(snapshot, state, [...running, ready]),
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
  if (identity) return conditionUnknown('Identified', identity.reason, identity.notIdentified);
  return conditionUnknown('Identified', 'NotUsed', 'Nobody was asked for it.');
}

function describeUsable(snapshot: HostSnapshot): ConditionState {
  const { host, holder, providerConfig: owner, duplicate } = snapshot;
  const error = permanentErrorOf(host);
  if (holder.kind === 'gone') return conditionFalse('Usable', 'MachineGone', error ?? '');
  if (error !== undefined) return conditionFalse('Usable', 'PermanentError', error);
  const view = toHostView(host);
  if (!view) return conditionFalse('Usable', 'InvalidConfig', describeInvalidSpec(host));
  if (duplicate !== undefined) return conditionFalse('Usable', 'SameServer', describeDuplicateHost(duplicate));
  if (!owner) {
    const message = 'No ProviderConfig of its platform uses this Host: no selector of a size fits its labels.';
    return conditionFalse('Usable', 'NotUsed', message);
  }
  if (host.spec.maintenance) return conditionFalse('Usable', 'InMaintenance', describeMaintenance(snapshot));
  const unusable = holder.kind === 'machine' ? undefined : owner.inventory.whyUnusable(view);
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
function describeRunningTasks(snapshot: HostSnapshot): ConditionState[] {
  const { identification, host } = snapshot;
  if (identification && remainingTask(snapshot))
    return [
      conditionFalse(taskConditionTypes[identification.progress.plan], 'StepWaiting', describeTaskProgress(snapshot)),
    ];
  return hostTaskKinds.flatMap((plan) => {
    if (!isTaskRequested(host, plan)) return [];
    const assessment = assessTask(snapshot, plan);
    return assessment.kind === 'waits'
      ? [conditionFalse(taskConditionTypes[plan], assessment.reason, assessment.message)]
      : [];
  });
}

/** Tasks that have finished or failed. */
function describeEndedTask(snapshot: HostSnapshot): ConditionState[] {
  const { identification, rejectionReason } = snapshot;
  if (rejectionReason)
    return [conditionFalse(taskConditionTypes[rejectionReason.plan], rejectionReason.reason, rejectionReason.message)];
  if (!identification || remainingTask(snapshot)) return [];
  const type = taskConditionTypes[identification.progress.plan];
  return [
    identification.kind === 'finished'
      ? conditionTrue(type)
      : conditionFalse(type, taskEndReason(snapshot), describeTaskProgress(snapshot)),
  ];
}

const taskEndReason = ({ identification }: HostSnapshot): ConditionReason =>
  identification?.kind === 'failed' ? toStepReason(identification.reason) : 'Overdue';

/** The task to continue. A failed or timed-out task is over: the user requests it again. */
export function remainingTask({ host, identification }: HostSnapshot): HostStatus['task'] {
  if (!identification) return hostStatusOf(host).task;
  const goesOn = (identification.kind === 'waiting' || identification.kind === 'error') && !identification.overdue;
  return goesOn ? { ...identification.progress, facts: { ...identification.progress.facts } } : undefined;
}

/** The progress of a task, as a sentence that begins with the step name. */
export const describeTaskProgress = ({ identification }: HostSnapshot): string =>
  (identification && describeStepProgress(identification)) ?? '';
