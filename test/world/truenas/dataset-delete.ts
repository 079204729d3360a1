import { getDataset } from './dataset-query.ts';
import { CallError, errnos } from './errors.ts';
import { devicesOf, shutDownVm, stateOf } from './machines.ts';
import type { Dataset, Nas } from './nas.ts';
import { forgetSnapshots, heldBySnapshots } from './snapshots.ts';
import { childrenOf, erase, isOpen, isWritable, mountpointOf, realPath, zvolName, zvolPath } from './storage.ts';

/** `pool.dataset.delete`: true, or a CallError with ENOTEMPTY or EBUSY. */
export async function deleteDataset(nas: Nas, id: string, { recursive }: { recursive: boolean }): Promise<true> {
  const below = childrenOf(nas, id);
  if (below.length > 0 && !recursive) {
    const message = `Failed to delete dataset: cannot destroy '${id}': filesystem has children`;
    throw new CallError(message, errnos.ENOTEMPTY);
  }
  const dataset = getDataset(nas, id);
  const held = heldBySnapshots(nas, [id, ...below.map((child) => child.id)], recursive);
  if (held) throw held;
  if (dataset.type === 'FILESYSTEM') stopAttached(nas, mountpointOf(id));
  if (!id.includes('/')) {
    throw new CallError(`Failed to delete dataset: cannot destroy '${id}': operation does not apply to pools`);
  }
  if (!isWritable(nas, id) && !nas.version.deleteAlwaysTrue) {
    throw new CallError(`Failed to delete dataset: cannot destroy '${id}': pool I/O is currently suspended`);
  }
  const busy = [...below, dataset].find((one) => isBusy(nas, one));
  if (busy && !nas.version.deleteAlwaysTrue) {
    const what = busy.type === 'VOLUME' ? `cannot destroy '${busy.id}': dataset is busy` : unmountRefusal(busy);
    throw new CallError(`Failed to delete dataset: ${what}`, errnos.EBUSY);
  }
  if (!busy && isWritable(nas, id)) await destroyTree(nas, dataset);
  return true;
}

const unmountRefusal = (dataset: Dataset) => `cannot unmount '${mountpointOf(dataset.id)}': pool or dataset is busy`;

/** Takes a dataset with all below it. */
export async function destroyTree(nas: Nas, dataset: Dataset): Promise<void> {
  for (const one of [...childrenOf(nas, dataset.id).reverse(), dataset]) {
    await forgetSnapshots(nas, one.id);
    erase(nas, one);
    nas.events.emit({ collection: 'pool.dataset.query', msg: 'removed', id: one.id });
  }
}

/**
 * Before a filesystem goes, every running VM with a disk or CD-ROM below it is told to shut down. Nobody waits for it
 * (middleware: plugins/vm/attachments.py).
 */
function stopAttached(nas: Nas, mountpoint: string): void {
  for (const vm of nas.vms.values()) {
    if (stateOf(nas, vm) !== 'RUNNING') continue;
    const isBelow = devicesOf(nas, vm).some(({ attributes }) => {
      if (!['DISK', 'RAW', 'CDROM'].includes(String(attributes['dtype']))) return false;
      const path = String(attributes['path'] ?? '');
      const at = path.startsWith('/dev/zvol/') ? mountpointOf(zvolName(path)) : path;
      return at === mountpoint || at.startsWith(`${mountpoint}/`);
    });
    if (!isBelow) continue;
    const request = { method: 'vm.stop', arguments: [vm.id], owner: undefined, messageId: undefined, abortable: false };
    nas.jobs.start({ ...request, lock: `stop_vm_${vm.id}` }, async () => {
      if (stateOf(nas, vm) !== 'RUNNING') throw new CallError("VM state is currently not 'RUNNING'");
      await shutDownVm(nas, vm, Number(vm.row['shutdown_timeout']));
    });
  }
}

/** A zvol or a file of the filesystem is open in a running machine. */
export function isBusy(nas: Nas, dataset: Dataset): boolean {
  if (dataset.type === 'VOLUME') return isOpen(nas, zvolPath(dataset.id));
  const folder = `${realPath(nas, mountpointOf(dataset.id))}/`;
  return [...nas.vms.values()].some((vm) => vm.guest?.paths.some((path) => path.startsWith(folder)));
}
