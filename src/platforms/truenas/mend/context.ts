import type { MendContext } from '../../../engine/mending.ts';
import type { TrueNasConfig } from '../config.ts';
import { dataDiskDrift } from '../data-disk-drift.ts';
import type { Vm } from '../schema.ts';
import type { System } from '../system.ts';
import { vmDrift } from '../vm-drift.ts';

export type MendingContext = MendContext<TrueNasConfig>;

/** What is amiss with the machine that was just looked at and is to be put right, by its reasons. */
export function dueOf(context: MendingContext, vm: Vm, system: System): readonly string[] {
  const seen = [...vmDrift(vm, system, context.config.bridge), ...dataDiskDrift(vm, context)];
  return seen.map(({ reason }) => reason).filter((reason) => context.reasons.includes(reason));
}

/** Devices of a machine that runs are put right only where people agreed to its being stopped for that. */
export const wantsItOff = (context: MendingContext, vm: Vm, system: System): boolean =>
  dueOf(context, vm, system).some((reason) => ['DeviceMissing', 'CardMoved'].includes(reason));
