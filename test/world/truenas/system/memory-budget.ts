import type { NasState, NasVm } from '../nas-state.ts';

const mebibyte = 1024 * 1024;
/** Memory of the system itself. */
const systemMiB = 2048;

/** Memory that a VM needs at start, in bytes. */
export const requestedBytes = (vm: NasVm): number => Number(vm.row['min_memory'] ?? vm.row['memory']) * mebibyte;

/**
 * Nine tenths of the free memory, less what running guests may still claim (middleware: plugins/vm/vm_memory_info.py).
 * The memory that the ARC of ZFS holds counts as free.
 */
export function availableBytes(nas: NasState): number {
  const running = [...nas.vms.values()].filter(({ guest }) => guest !== undefined);
  const used = running.reduce((sum, vm) => sum + (vm.guest?.memoryMiB ?? 0), 0);
  const expected = running.reduce((sum, vm) => sum + Number(vm.row['memory']) - (vm.guest?.memoryMiB ?? 0), 0);
  const free = nas.memoryMiB - Math.min(systemMiB, nas.memoryMiB / 4) - used;
  return Math.max(0, Math.floor((Math.max(0, free) * 0.9 - Math.max(0, expected)) * mebibyte));
}
