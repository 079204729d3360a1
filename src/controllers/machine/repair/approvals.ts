import { Machine } from '../../../api/machine.ts';
import { annotations } from '../../../api/names.ts';
import type { Drift } from '../../../engine/observation.ts';
import type { Services } from '../../shared/services.ts';

/** The annotations of a Machine that control its repair. */
export interface MachineApprovals {
  /** The reasons of the drift whose repair is approved although data may be lost. */
  readonly approved: readonly string[];
  /** Automatic repair is paused. */
  readonly maintenance: boolean;
}

export function approvalsOf({ metadata }: Pick<Machine, 'metadata'>): MachineApprovals {
  const reasons = metadata.annotations?.[annotations.approve]?.split(',') ?? [];
  return {
    approved: reasons.map((word) => word.trim()).filter((word) => word !== ''),
    maintenance: metadata.annotations?.[annotations.maintenance] === 'true',
  };
}

/** The reasons of the drift to repair now. */
export function reasonsToRepair(drift: readonly Drift[], { approved, maintenance }: MachineApprovals): string[] {
  const due = ({ reason, repair }: Drift) =>
    repair !== undefined &&
    !repair.isDeferred &&
    (approved.includes(reason) || (repair.mode === 'automatic' && (repair.isStarted || !maintenance)));
  return [...new Set(drift.filter(due).map(({ reason }) => reason))];
}

/** The drift with its next action or the approval that it needs. */
export function withRepairMessages(drift: readonly Drift[], approvals: MachineApprovals): readonly Drift[] {
  const all = drift.map((one) => ({
    ...one,
    message: [one.message, ...describeNextAction(one, approvals)].join(' '),
  }));
  if (!approvals.maintenance || drift.length === 0) return all;
  const message = `Not repaired: the Machine has the annotation ${annotations.maintenance}.`;
  const minor = drift.every((one) => one.isMinor) ? { isMinor: true as const } : {};
  return [{ reason: 'InMaintenance', message, ...minor }, ...all];
}

function describeNextAction({ reason, repair }: Drift, { approved, maintenance }: MachineApprovals): readonly string[] {
  if (!repair || repair.isDeferred) return [];
  if (approved.includes(reason) || repair.isStarted) return [`As approved, ${repair.effect}.`];
  if (repair.mode === 'automatic') return maintenance ? [] : [`Automatically ${repair.effect}.`];
  return [`With the annotation ${annotations.approve}: ${reason} on the Machine, ${repair.effect}.`];
}

/** Removes the approvals once their drift is gone, and records whether it ever existed. */
export async function clearApprovals(
  services: Services,
  machine: Machine,
  drift: readonly Drift[],
  options: { readonly repaired: boolean; readonly signal: AbortSignal },
): Promise<void> {
  const { approved } = approvalsOf(machine);
  if (
    approved.length === 0 ||
    awaitsDeletion(machine) ||
    drift.some(({ reason, repair }) => repair && approved.includes(reason))
  )
    return;
  const { name } = machine.metadata;
  const patch = { metadata: { annotations: { [annotations.approve]: null } } };
  const written = await services.kube.merge(Machine, { name }, patch, {}, options.signal);
  machine.metadata = written.metadata;
  if (options.repaired)
    services.events.record(machine, 'Normal', 'Repaired', `${approved.join(', ')}: repaired as approved.`);
  else
    services.events.record(machine, 'Warning', 'NothingToMend', `${approved.join(', ')}: there is nothing to repair.`);
}

/** The loss of the cluster is approved: the annotation must stay until the user deletes the Machine. */
const awaitsDeletion = (machine: Machine): boolean =>
  machine.metadata.annotations?.[annotations.onlyControlPlane] !== undefined &&
  approvalsOf(machine).approved.includes('LastControlPlane');
