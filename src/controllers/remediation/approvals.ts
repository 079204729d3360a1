import { Machine } from '../../api/machine.ts';
import { annotations } from '../../api/names.ts';
import type { Drift } from '../../engine/observation.ts';
import type { Services } from '../shared/services.ts';

/** The annotations of a Machine that control its repair. */
export interface MachineApprovals {
  /** The reasons of the drift whose repair is approved although data may be lost. */
  readonly agreed: readonly string[];
  /** Automatic repair is paused. */
  readonly maintenance: boolean;
}

export function approvalsOf({ metadata }: Machine): MachineApprovals {
  const words = metadata.annotations?.[annotations.mend]?.split(',') ?? [];
  return {
    agreed: words.map((word) => word.trim()).filter((word) => word !== ''),
    maintenance: metadata.annotations?.[annotations.maintenance] === 'true',
  };
}

/** The reasons of the drift to repair now. */
export function reasonsToRepair(drift: readonly Drift[], { agreed, maintenance }: MachineApprovals): string[] {
  const due = ({ reason, mend }: Drift) =>
    mend !== undefined &&
    !mend.later &&
    (agreed.includes(reason) || (mend.when === 'by-itself' && (mend.begun || !maintenance)));
  return [...new Set(drift.filter(due).map(({ reason }) => reason))];
}

/** The drift with its next action or the approval that it needs. */
export function withRepairMessages(drift: readonly Drift[], wishes: MachineApprovals): readonly Drift[] {
  const all = drift.map((one) => ({ ...one, message: [one.message, ...describeNextAction(one, wishes)].join(' ') }));
  if (!wishes.maintenance || drift.length === 0) return all;
  const message = `Nothing is put right by itself: the Machine has the annotation ${annotations.maintenance}.`;
  const minor = drift.every((one) => one.minor) ? { minor: true as const } : {};
  return [{ reason: 'InMaintenance', message, ...minor }, ...all];
}

function describeNextAction({ reason, mend }: Drift, { agreed, maintenance }: MachineApprovals): readonly string[] {
  if (!mend || mend.later) return [];
  if (agreed.includes(reason) || mend.begun) return [`As agreed, ${mend.how}.`];
  if (mend.when === 'by-itself') return maintenance ? [] : [`By itself ${mend.how}.`];
  return [`With the annotation ${annotations.mend}: ${reason} on the Machine ${mend.how}.`];
}

/** Removes the approvals once their drift is gone, and records whether it ever existed. */
export async function clearApprovals(
  services: Services,
  machine: Machine,
  drift: readonly Drift[],
  options: { readonly mended: boolean; readonly signal: AbortSignal },
): Promise<void> {
  const { agreed } = approvalsOf(machine);
  if (
    agreed.length === 0 ||
    awaitsDeletion(machine) ||
    drift.some(({ reason, mend }) => mend && agreed.includes(reason))
  )
    return;
  const { name } = machine.metadata;
  const patch = { metadata: { annotations: { [annotations.mend]: null } } };
  const written = await services.kube.merge(Machine, { name }, patch, {}, options.signal);
  machine.metadata = written.metadata;
  if (options.mended) services.events.record(machine, 'Normal', 'Mended', `${agreed.join(', ')}: put right as agreed.`);
  else
    services.events.record(
      machine,
      'Warning',
      'NothingToMend',
      `${agreed.join(', ')}: there is nothing of that to put right.`,
    );
}

/** The loss of the cluster is approved: the annotation must stay until the user deletes the Machine. */
const awaitsDeletion = (machine: Machine): boolean =>
  machine.metadata.annotations?.[annotations.onlyControlPlane] !== undefined &&
  approvalsOf(machine).agreed.includes('LastControlPlane');
