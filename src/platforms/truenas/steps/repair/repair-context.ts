import type { RepairContext } from '../../../../engine/capabilities/repair.ts';
import type { Vm } from '../../api/schema.ts';
import type { TrueNasConfig } from '../../config/config.ts';
import { dataDiskDrift } from '../../observation/data-disk-drift.ts';
import { equipmentDrift } from '../../observation/equipment-drift.ts';
import { vmDrift } from '../../observation/vm-drift.ts';
import { parseGuestDiskSizes } from '../../resources/disk/guest-disk-sizes.ts';
import type { MachineScope } from '../../resources/machine-scope.ts';

export type TrueNasRepairContext = RepairContext<TrueNasConfig>;

/** The reasons of the current drift that this repair covers. */
export function coveredReasons(context: TrueNasRepairContext, vm: Vm, system: MachineScope): readonly string[] {
  const seen = [...vmDrift(vm, system, context), ...equipmentDrift(vm, system, context), ...dataDiskDrift(vm, context)];
  return seen.map(({ reason }) => reason).filter((reason) => context.reasons.includes(reason));
}

/**
 * True when the machine has to be off: for a restart, for an approved repair of its devices, or for its guest to see the
 * new sizes of its disks.
 */
export const requiresPowerOff = (context: TrueNasRepairContext, vm: Vm, system: MachineScope): boolean =>
  context.restart !== undefined ||
  coveredReasons(context, vm, system).some((reason) =>
    ['DeviceMissing', 'CardMoved', 'DisplayMissing'].includes(reason),
  ) ||
  (context.reasons.includes('RestartDue') && parseGuestDiskSizes(context.facts, vm).size > 0);
