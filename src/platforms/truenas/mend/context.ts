import type { MendContext } from '../../../engine/mending.ts';
import type { TrueNasConfig } from '../config.ts';
import { dataDiskDrift } from '../data-disk-drift.ts';
import { equipmentDrift } from '../equipment-drift.ts';
import { seenSizes } from '../guest-view.ts';
import type { Vm } from '../schema.ts';
import type { System } from '../system.ts';
import { vmDrift } from '../vm-drift.ts';

export type MendingContext = MendContext<TrueNasConfig>;

/** What is amiss with the machine that was just looked at and is to be put right, by its reasons. */
export function dueOf(context: MendingContext, vm: Vm, system: System): readonly string[] {
  const seen = [...vmDrift(vm, system, context), ...equipmentDrift(vm, system, context), ...dataDiskDrift(vm, context)];
  return seen.map(({ reason }) => reason).filter((reason) => context.reasons.includes(reason));
}

/**
 * A machine that runs is stopped only where people agreed to that: for its devices to be put right, or for its guest to see that its
 * disks were grown.
 */
export const wantsItOff = (context: MendingContext, vm: Vm, system: System): boolean =>
  dueOf(context, vm, system).some((reason) => ['DeviceMissing', 'CardMoved', 'DisplayMissing'].includes(reason)) ||
  (context.reasons.includes('RestartDue') && seenSizes(context.facts, vm).size > 0);
