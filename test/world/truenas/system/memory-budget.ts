import type { NasState, NasVm } from '../nas-state.ts';

const mebibyte = 1024 * 1024;
/** Memory of the system itself. */
const systemMiB = 2048;

/** The ARC of ZFS: its current size and its limits. */
export interface ArcState {
  sizeBytes: number;
  maximumBytes: number;
  readonly minimumBytes: number;
}

/** The default limits of ZFS on Linux, and the current size. */
export function newArcState(memoryMiB: number, sizeMiB: number): ArcState {
  const memory = memoryMiB * mebibyte;
  return {
    sizeBytes: sizeMiB * mebibyte,
    maximumBytes: Math.max(Math.floor(memory / 2), sizeMiB * mebibyte),
    minimumBytes: Math.floor(memory / 32),
  };
}

/** Memory that a VM needs at start, in bytes. */
export function requestedBytes(vm: NasVm): number {
  return Number(vm.row['min_memory'] ?? vm.row['memory']) * mebibyte;
}

/**
 * Nine tenths of the free memory plus the memory that the ARC can release. Running guests use the memory that they
 * started with; without overcommit their maximum is reserved (middleware: plugins/vm/vm_memory_info.py).
 */
export function availableBytes(nas: NasState, overcommit: boolean): number {
  const running = [...nas.vms.values()].filter(({ guest }) => guest !== undefined);
  const used = running.reduce((sum, vm) => sum + (vm.guest?.memoryMiB ?? 0), 0);
  const promised = running.reduce((sum, vm) => sum + Number(vm.row['memory']) - (vm.guest?.memoryMiB ?? 0), 0);
  const free = (nas.memoryMiB - Math.min(systemMiB, nas.memoryMiB / 4) - used) * mebibyte - nas.arc.sizeBytes;
  const shrinkable = Math.max(0, nas.arc.sizeBytes - nas.arc.minimumBytes);
  const kept = overcommit ? 0 : Math.max(0, promised) * mebibyte;
  return Math.max(0, Math.floor(Math.max(0, free) * 0.9 + shrinkable - kept));
}

/** Shrinks the ARC by the memory that a guest needs beyond the free memory. It is returned when the guest stops. */
export function shrinkArc({ arc }: NasState, missingBytes: number): void {
  arc.maximumBytes = Math.max(arc.minimumBytes, arc.maximumBytes - Math.max(0, missingBytes));
  arc.sizeBytes = Math.min(arc.sizeBytes, arc.maximumBytes);
}

/** A guest has stopped: the ARC may grow to its previous limit. */
export function releaseArc({ arc, memoryMiB }: NasState, vm: NasVm): void {
  const usual = Math.max(Math.floor((memoryMiB * mebibyte) / 2), arc.sizeBytes);
  arc.maximumBytes = Math.min(usual, arc.maximumBytes + Number(vm.row['memory']) * mebibyte);
}
