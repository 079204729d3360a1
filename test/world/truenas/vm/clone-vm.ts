import { randomUUID } from 'node:crypto';
import { newDataset } from '../dataset/dataset-properties.ts';
import { CallError, errnos } from '../middleware/errors.ts';
import type { CallContext } from '../middleware/method.ts';
import type { NasState, NasVm } from '../nas-state.ts';
import { createDatasetFiles, zvolName, zvolPath } from '../storage/dataset-files.ts';
import { createDevice } from './device/device-records.ts';
import { createVm } from './vm-records.ts';
import { devicesOf, displayedOrder } from './vm-runtime.ts';

/**
 * `vm.clone`: a new VM with a UUID, disks, addresses and ports of its own. Everything else is equal, including the
 * description. The disks are empty, and the snapshots that the real ones depend on are not simulated.
 */
export async function cloneVm(vm: NasVm, name: string, context: CallContext): Promise<true> {
  const created = createVm({ ...vm.row, name, uuid: randomUUID() }, context);
  for (const device of devicesOf(context.nas, vm)) {
    const attributes = { ...device.attributes };
    if (attributes['dtype'] === 'NIC') attributes['mac'] = null;
    if (attributes['dtype'] === 'DISPLAY') Object.assign(attributes, { port: null, web_port: null });
    if (attributes['dtype'] === 'DISK') attributes['path'] = await cloneZvol(context.nas, name, attributes['path']);
    await createDevice({ vm: Number(created['id']), order: displayedOrder(device), attributes }, context);
  }
  return true;
}

async function cloneZvol(nas: NasState, name: string, path: unknown): Promise<string> {
  const source = nas.datasets.get(zvolName(String(path)));
  if (!source) throw new CallError(`zvol ${zvolName(String(path))} does not exist.`, errnos.ENOENT);
  const clone = newDataset(`${source.id}_${name}`, 'VOLUME');
  for (const key of ['volsize', 'volblocksize']) clone.properties.set(key, source.properties.get(key) ?? '');
  nas.datasets.set(clone.id, clone);
  await createDatasetFiles(nas, clone);
  return zvolPath(clone.id);
}
