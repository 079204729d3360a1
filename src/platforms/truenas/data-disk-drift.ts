import type { Drift } from '../../engine/observation.ts';
import { pathOfZvol, recordedDisks } from './data-disks.ts';
import type { Vm } from './schema.ts';
import { drift } from './storage-drift.ts';
import type { Context } from './system.ts';
import { reattach } from './vm-drift.ts';

/** Data disks that a virtual machine was made with and that are not attached to it any more. */
export function dataDiskDrift(vm: Vm, { facts }: Pick<Context, 'facts'>): Drift[] {
  return recordedDisks(facts)
    .map(({ zvol }) => pathOfZvol(zvol))
    .filter((path) => !vm.devices.some(({ attributes }) => attributes.path === path))
    .map((path) => drift('DeviceMissing', `Its disk ${path} is not attached.`, reattach(vm)));
}
