import { destroyTree, isBusy } from '../dataset/delete-dataset.ts';
import { CallError, errnos } from '../middleware/errors.ts';
import type { CallContext } from '../middleware/method.ts';
import { type NasState, type NasVm, sleepInWorldTime } from '../nas-state.ts';
import { emitCallEvent } from '../protocol/collection-events.ts';
import { zvolName } from '../storage/dataset-files.ts';
import { getVm } from './vm-records.ts';
import {
  devicesOf,
  emitSuspended,
  emitUndefined,
  isRunningOrSuspended,
  killVm,
  requireVmState,
  shutDownVm,
  vmStateOf,
} from './vm-runtime.ts';

/** Options of `vm.stop`. */
export interface VmStopOptions {
  readonly force: boolean;
  readonly force_after_timeout: boolean;
}

/** The work of `vm.stop`. */
export async function stopVm(nas: NasState, vm: NasVm, how: VmStopOptions): Promise<null> {
  if (how.force) {
    requireVmState(nas, vm, 'RUNNING', 'SUSPENDED');
    await killVm(nas, vm);
    return null;
  }
  requireVmState(nas, vm, 'RUNNING');
  await shutDownVm(nas, vm, Number(vm.row['shutdown_timeout']));
  // The job succeeds even if the guest ignored the button.
  if (how.force_after_timeout && vmStateOf(nas, vm) === 'RUNNING') await killVm(nas, vm);
  return null;
}

/** `vm.suspend` and `vm.resume`. */
export function setSuspended(nas: NasState, id: unknown, suspended: boolean): null {
  const vm = getVm(nas, id);
  requireVmState(nas, vm, suspended ? 'RUNNING' : 'SUSPENDED');
  if (vm.guest) vm.guest.suspended = suspended;
  emitSuspended(nas, vm);
  return null;
}

/** The middleware deletes one VM at a time: it holds a lock during the whole deletion. */
const deletions = new WeakMap<NasState, Promise<unknown>>();

/** `vm.delete`, one at a time. */
export function deleteVm(
  context: CallContext,
  id: unknown,
  how: { zvols: boolean; force: boolean },
): Promise<boolean | null> {
  const { nas } = context;
  const before = deletions.get(nas) ?? Promise.resolve();
  const own = before.catch(() => undefined).then(() => deleteOne(context, id, how));
  deletions.set(
    nas,
    own.catch(() => undefined),
  );
  return own;
}

async function deleteOne(
  { nas, signal }: CallContext,
  id: unknown,
  how: { zvols: boolean; force: boolean },
): Promise<boolean | null> {
  const vm = getVm(nas, id);
  if (how.zvols && nas.version.deletesZvolsFirst) destroyZvols(nas, vm, how.force);
  if (isRunningOrSuspended(nas, vm)) {
    await killVm(nas, vm);
    // "at least 7 seconds to have the vm complete its post vm actions"
    await sleepInWorldTime(nas, 7, signal);
  } else if (vmStateOf(nas, vm) === 'ERROR' && !how.force) {
    throw new CallError('Unable to retrieve VM status. Failed to destroy VM');
  }
  if (how.zvols && !nas.version.deletesZvolsFirst) destroyZvols(nas, vm, how.force);
  if (nas.hasKvm && !nas.version.plainDomainEvents) emitUndefined(nas, vm);
  for (const device of devicesOf(nas, vm)) {
    nas.devices.delete(device.id);
    emitCallEvent(nas, 'vm.device.query', device.id, 'removed');
  }
  nas.vms.delete(vm.id);
  emitCallEvent(nas, 'vm.query', vm.id, 'removed');
  return nas.version.deletesZvolsFirst ? null : true;
}

function destroyZvols(nas: NasState, vm: NasVm, force: boolean): void {
  for (const { attributes } of devicesOf(nas, vm)) {
    const path = String(attributes['path'] ?? '');
    if (attributes['dtype'] !== 'DISK' || !path.startsWith('/dev/zvol/')) continue;
    const dataset = nas.datasets.get(zvolName(path));
    if (dataset && !isBusy(nas, dataset)) destroyTree(nas, dataset);
    else if (!force) {
      const why = dataset ? 'dataset is busy' : 'dataset does not exist';
      const message = `Failed to delete dataset: cannot destroy '${zvolName(path)}': ${why}`;
      throw new CallError(message, dataset ? errnos.EBUSY : errnos.EFAULT);
    }
  }
}
