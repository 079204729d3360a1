import type { NasState, NasVm } from '../nas-state.ts';

const mebibyte = 1024 * 1024;
/** What the system itself keeps busy. */
const systemMiB = 2048;

/** The cache of ZFS: what it holds now, and between what it moves. */
export interface ArcState {
  sizeBytes: number;
  maximumBytes: number;
  readonly minimumBytes: number;
}

/** Bounds as ZFS chooses them on Linux, and so much in it. */
export function newArcState(memoryMiB: number, sizeMiB: number): ArcState {
  const memory = memoryMiB * mebibyte;
  return {
    sizeBytes: sizeMiB * mebibyte,
    maximumBytes: Math.max(Math.floor(memory / 2), sizeMiB * mebibyte),
    minimumBytes: Math.floor(memory / 32),
  };
}

/** Memory a VM asks for at start, in bytes. */
export function requestedBytes(vm: NasVm): number {
  return Number(vm.row['min_memory'] ?? vm.row['memory']) * mebibyte;
}

/**
 * Nine tenths of what is free, and what the cache would give up. Running guests use what they were started with; without
 * overcommit the rest of what they may grow to is kept for them (middleware: plugins/vm/vm_memory_info.py).
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

/** Takes from the cache what a guest needs beyond what is free. It is given back when the guest has gone. */
export function shrinkArc({ arc }: NasState, missingBytes: number): void {
  arc.maximumBytes = Math.max(arc.minimumBytes, arc.maximumBytes - Math.max(0, missingBytes));
  arc.sizeBytes = Math.min(arc.sizeBytes, arc.maximumBytes);
}

/** A guest is gone: the cache may be as large as before. */
export function releaseArc({ arc, memoryMiB }: NasState, vm: NasVm): void {
  const usual = Math.max(Math.floor((memoryMiB * mebibyte) / 2), arc.sizeBytes);
  arc.maximumBytes = Math.min(usual, arc.maximumBytes + Number(vm.row['memory']) * mebibyte);
}
