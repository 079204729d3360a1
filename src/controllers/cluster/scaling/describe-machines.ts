import {
  type ConditionState,
  conditionFalse,
  conditionTrue,
  findFalseCondition,
  isConditionTrue,
  isUpdateFailure,
} from '../../../api/conditions.ts';
import type { Machine } from '../../../api/machine.ts';
import { isUpdateOpen } from '../../../talos/update/update-context.ts';
import { isReplacing } from '../../rollout/machine-change.ts';
import type { ClusterView } from '../view.ts';
import { comparePoolsOf, findEndpointMachine } from './cluster-pools.ts';
import { decideClusterScaleDown } from './decide-cluster-scale-down.ts';
import type { PoolBalance } from './machine-slots.ts';

/**
 * Whether the Machines exist and run that the spec asks for. Machines that the cluster has too many, and those in
 * deletion, are only mentioned: they do not make it less ready.
 */
export function describeMachines(view: ClusterView): ConditionState {
  if (view.noAddress) return conditionFalse('MachinesReady', 'AddressPoolExhausted', view.noAddress);
  if (view.nameTaken) return conditionFalse('MachinesReady', 'NameCollision', view.nameTaken);
  const pools = comparePoolsOf(view);
  const missing = pools.filter((pool) => !isReplacingIn(pool)).flatMap((pool) => pool.missing);
  const surplus = pools.flatMap((pool) => pool.surplus);
  const leaving = view.machines.filter(({ metadata }) => metadata.deletionTimestamp);
  const kept = view.machines.filter((machine) => !surplus.includes(machine) && !leaving.includes(machine));
  const pending = kept.filter(
    (machine) =>
      !isConditionTrue(machine.status?.conditions, 'Ready') &&
      !isRestartingForUpdate(machine) &&
      !isSuccessor(machine, pools),
  );
  // Without a spec every Machine counts.
  const total = view.spec ? pools.reduce((sum, { replicas }) => sum + replicas, 0) : kept.length;
  const count = `${kept.length - pending.length} of ${total} are ready.`;
  const notes = [...leaving.map(describeLeaving), ...describeSurplus(view, surplus)];
  if (missing.length + pending.length === 0)
    return conditionTrue('MachinesReady', [count, ...kept.flatMap(describeUnhealthy), ...notes].join(' '));
  const parts = [...pending.map(describePending), ...missing.map((slot) => `${slot.name} does not exist yet`)];
  return conditionFalse(
    'MachinesReady',
    'WaitingForMachines',
    [count, `${parts.slice(0, 6).join('; ')}.`, ...notes].join(' '),
  );
}

/**
 * A node that restarts because its turn in the rollout has come is no fault of the cluster: the rollout makes sure that
 * the others do its work. It is one as soon as it takes too long.
 */
function isRestartingForUpdate({ status }: Machine): boolean {
  const state = findFalseCondition(status?.conditions, 'UpToDate');
  if (state === undefined || isUpdateFailure(state.reason)) return false;
  // The record of the steps ends a moment before the next report of the Machine.
  return isUpdateOpen(status?.progress) || state.reason === 'Updating';
}

const isReplacingIn = ({ role, present }: PoolBalance): boolean => role === 'worker' && present.some(isReplacing);

/** A Machine that is being created while the one that it replaces still does the work. */
const isSuccessor = ({ spec, status }: Machine, pools: readonly PoolBalance[]): boolean =>
  status?.compared === undefined && pools.some((pool) => pool.pool === spec.pool && isReplacingIn(pool));

/** The drift of a Machine that counts as ready. */
function describeUnhealthy({ metadata, status }: Machine): readonly string[] {
  const note = findFalseCondition(status?.conditions, 'Healthy');
  return note ? [`${metadata.name}: ${note.message}`] : [];
}

const withoutFullStop = (text: string | undefined): string => text?.replace(/\.$/, '') || 'not started';

const describePending = ({ metadata, status }: Machine): string =>
  `${metadata.name}: ${withoutFullStop(status?.message)}`;

const describeLeaving = ({ metadata, status }: Machine): string =>
  `${metadata.name} is being deleted: ${withoutFullStop(status?.message)}.`;

/** The Machines that are deleted next, what that waits for, and one that stays although a user chose it. */
function describeSurplus(view: ClusterView, machines: readonly Machine[]): readonly string[] {
  if (machines.length === 0) return [];
  const names = machines.map(({ metadata }) => metadata.name);
  const others = names.length > 6 ? ` and ${names.length - 6} others` : '';
  const decision = decideClusterScaleDown(view);
  const reason = decision.kind === 'wait' ? ` ${decision.message}` : '';
  const holder = findEndpointMachine(view);
  const stays = holder !== undefined && machines.some(({ spec }) => spec.role === 'controlplane');
  return [
    `To be deleted: ${names.slice(0, 6).join(', ')}${others}.${reason}`,
    ...(stays ? [`${holder} stays: its address is the endpoint of the cluster.`] : []),
  ];
}
