import { devicesOf, stateOf, tellSuspended } from './machines.ts';
import { type Nas, pause, type Snapshot, type Vm } from './nas.ts';
import { takeSnapshot } from './snapshots.ts';
import { mountpointOf, zvolName } from './storage.ts';

/** World seconds that machines stand still at least. */
const stillSeconds = 1;

/**
 * A snapshot with machines at rest, as a periodic task takes it: those that run, have `suspend_on_snapshot` and a disk there are
 * suspended meanwhile (middleware: plugins/vm/attachments.py, query_snapshot_begin).
 */
export async function takeSnapshotAtRest(
  nas: Nas,
  dataset: string,
  name: string,
  recursive: boolean,
): Promise<Snapshot> {
  const affected = [...nas.vms.values()].filter((vm) => isAffected(nas, vm, mountpointOf(dataset), recursive));
  for (const vm of affected) setAtRest(nas, vm, true);
  try {
    if (affected.length > 0) await pause(nas, stillSeconds);
    return await takeSnapshot(nas, dataset, name, recursive);
  } finally {
    for (const vm of affected) setAtRest(nas, vm, false);
  }
}

function isAffected(nas: Nas, vm: Vm, dataset: string, recursive: boolean): boolean {
  if (stateOf(nas, vm) !== 'RUNNING' || vm.row['suspend_on_snapshot'] !== true) return false;
  return devicesOf(nas, vm).some(({ attributes }) => {
    const path = attributes['path'];
    if (typeof path !== 'string') return false;
    const at = path.startsWith('/dev/zvol/') ? mountpointOf(zvolName(path)) : path;
    // A file belongs to the dataset that it lies in, a zvol is one.
    return at === dataset || (at.startsWith(`${dataset}/`) && (recursive || !path.startsWith('/dev/zvol/')));
  });
}

function setAtRest(nas: Nas, vm: Vm, suspended: boolean): void {
  if (!vm.guest || vm.guest.suspended === suspended) return;
  vm.guest.suspended = suspended;
  tellSuspended(nas, vm);
}
