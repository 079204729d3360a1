import type { RepairContext } from '../../../../engine/capabilities/repair.ts';
import type { Vm } from '../../api/schema.ts';
import type { TrueNasConfig } from '../../config/config.ts';
import { dataDiskDrift } from '../../observation/data-disk-drift.ts';
import { equipmentDrift } from '../../observation/equipment-drift.ts';
import { vmDrift } from '../../observation/vm-drift.ts';
import { parseGuestDiskSizes } from '../../resources/disk/guest-disk-sizes.ts';
import type { MachineScope } from '../../resources/machine-scope.ts';

export type TrueNasRepairContext = RepairContext<TrueNasConfig>;

/** What is amiss with the machine that was just looked at and is to be put right, by its reasons. */
export function reasonsToRepair(context: TrueNasRepairContext, vm: Vm, system: MachineScope): readonly string[] {
  const seen = [...vmDrift(vm, system, context), ...equipmentDrift(vm, system, context), ...dataDiskDrift(vm, context)];
  return seen.map(({ reason }) => reason).filter((reason) => context.reasons.includes(reason));
}

/**
 * A machine that runs is stopped only where people agreed to that: for its devices to be put right, or for its guest to see that its
 * disks were grown.
 */
export const requiresPowerOff = (context: TrueNasRepairContext, vm: Vm, system: MachineScope): boolean =>
  reasonsToRepair(context, vm, system).some((reason) =>
    ['DeviceMissing', 'CardMoved', 'DisplayMissing'].includes(reason),
  ) ||
  (context.reasons.includes('RestartDue') && parseGuestDiskSizes(context.facts, vm).size > 0);
