import { CallError, errnos } from '../middleware/errors.ts';
import type { NasDataset, NasState } from '../nas-state.ts';
import {
  childrenOf,
  isOpenInVm,
  isWritable,
  mountpointOf,
  realPath,
  removeDataset,
  zvolName,
  zvolPath,
} from '../storage/dataset-files.ts';
import { devicesOf, shutDownVm, vmStateOf } from '../vm/vm-runtime.ts';
import { getDataset } from './query-datasets.ts';

/** `pool.dataset.delete`: true, or a CallError with ENOTEMPTY or EBUSY. */
export function deleteDataset(nas: NasState, id: string, { recursive }: { recursive: boolean }): true {
  const below = childrenOf(nas, id);
  if (below.length > 0 && !recursive) {
    const message = `Failed to delete dataset: cannot destroy '${id}': filesystem has children`;
    throw new CallError(message, errnos.ENOTEMPTY);
  }
  const dataset = getDataset(nas, id);
  if (dataset.type === 'FILESYSTEM') stopAttachedVms(nas, mountpointOf(id));
  if (!id.includes('/')) {
    throw new CallError(`Failed to delete dataset: cannot destroy '${id}': operation does not apply to pools`);
  }
  if (!isWritable(nas, id) && !nas.version.deleteAlwaysTrue) {
    throw new CallError(`Failed to delete dataset: cannot destroy '${id}': pool I/O is currently suspended`);
  }
  const busy = [...below, dataset].find((one) => isBusy(nas, one));
  if (busy && !nas.version.deleteAlwaysTrue) {
    const what = busy.type === 'VOLUME' ? `cannot destroy '${busy.id}': dataset is busy` : unmountError(busy);
    throw new CallError(`Failed to delete dataset: ${what}`, errnos.EBUSY);
  }
  if (!busy && isWritable(nas, id)) destroyTree(nas, dataset);
  return true;
}

const unmountError = (dataset: NasDataset) => `cannot unmount '${mountpointOf(dataset.id)}': pool or dataset is busy`;

/** Deletes a dataset with all descendants. */
export function destroyTree(nas: NasState, dataset: NasDataset): void {
  for (const one of [...childrenOf(nas, dataset.id).reverse(), dataset]) {
    removeDataset(nas, one);
    nas.events.emit({ collection: 'pool.dataset.query', msg: 'removed', id: one.id });
  }
}

/**
 * Before a filesystem is deleted, every running VM with a disk or CD-ROM below it is told to shut down. The call does
 * not wait for it (middleware: plugins/vm/attachments.py).
 */
function stopAttachedVms(nas: NasState, mountpoint: string): void {
  for (const vm of nas.vms.values()) {
    if (vmStateOf(nas, vm) !== 'RUNNING') continue;
    const isBelow = devicesOf(nas, vm).some(({ attributes }) => {
      if (!['DISK', 'CDROM'].includes(String(attributes['dtype']))) return false;
      const path = String(attributes['path'] ?? '');
      const at = path.startsWith('/dev/zvol/') ? mountpointOf(zvolName(path)) : path;
      return at === mountpoint || at.startsWith(`${mountpoint}/`);
    });
    if (!isBelow) continue;
    const request = { method: 'vm.stop', arguments: [vm.id], owner: undefined, messageId: undefined, abortable: false };
    nas.jobs.start({ ...request, lock: `stop_vm_${vm.id}` }, async () => {
      if (vmStateOf(nas, vm) !== 'RUNNING') throw new CallError("VM state is currently not 'RUNNING'");
      await shutDownVm(nas, vm, Number(vm.row['shutdown_timeout']));
    });
  }
}

/** A running machine uses the zvol or a file of the filesystem. */
export function isBusy(nas: NasState, dataset: NasDataset): boolean {
  if (dataset.type === 'VOLUME') return isOpenInVm(nas, zvolPath(dataset.id));
  const folder = `${realPath(nas, mountpointOf(dataset.id))}/`;
  return [...nas.vms.values()].some((vm) => vm.guest?.paths.some((path) => path.startsWith(folder)));
}
