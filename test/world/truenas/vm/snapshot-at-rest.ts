import { type NasSnapshot, type NasState, type NasVm, sleepInWorldTime } from '../nas-state.ts';
import { mountpointOf, zvolName } from '../storage/dataset-files.ts';
import { takeSnapshot } from '../storage/snapshots.ts';
import { devicesOf, emitSuspended, vmStateOf } from './vm-runtime.ts';

/** Simulated seconds that machines are suspended at least. */
const suspendSeconds = 1;

/**
 * A snapshot with suspended machines, as a periodic task takes it: running machines with `suspend_on_snapshot` and a
 * disk in the dataset are suspended meanwhile (middleware: plugins/vm/attachments.py, query_snapshot_begin).
 */
export async function takeSnapshotAtRest(
  nas: NasState,
  dataset: string,
  name: string,
  recursive: boolean,
): Promise<NasSnapshot> {
  const affected = [...nas.vms.values()].filter((vm) => isAffected(nas, vm, mountpointOf(dataset), recursive));
  for (const vm of affected) setSuspendedForSnapshot(nas, vm, true);
  try {
    if (affected.length > 0) await sleepInWorldTime(nas, suspendSeconds);
    return await takeSnapshot(nas, dataset, name, recursive);
  } finally {
    for (const vm of affected) setSuspendedForSnapshot(nas, vm, false);
  }
}

function isAffected(nas: NasState, vm: NasVm, dataset: string, recursive: boolean): boolean {
  if (vmStateOf(nas, vm) !== 'RUNNING' || vm.row['suspend_on_snapshot'] !== true) return false;
  return devicesOf(nas, vm).some(({ attributes }) => {
    const path = attributes['path'];
    if (typeof path !== 'string') return false;
    const at = path.startsWith('/dev/zvol/') ? mountpointOf(zvolName(path)) : path;
    // A file belongs to the dataset that contains it; a zvol is a dataset.
    return at === dataset || (at.startsWith(`${dataset}/`) && (recursive || !path.startsWith('/dev/zvol/')));
  });
}

function setSuspendedForSnapshot(nas: NasState, vm: NasVm, suspended: boolean): void {
  if (!vm.guest || vm.guest.suspended === suspended) return;
  vm.guest.suspended = suspended;
  emitSuspended(nas, vm);
}
