import { truncate, unlink, writeFile } from 'node:fs/promises';
import { newDataset } from '../../dataset/dataset-properties.ts';
import { destroyTree, isBusy } from '../../dataset/delete-dataset.ts';
import { ArgumentErrors, CallError, errnos, instanceNotFound } from '../../middleware/errors.ts';
import type { CallContext } from '../../middleware/method.ts';
import { parseValue, taggedUnionModel } from '../../middleware/parameter-model.ts';
import type { Entry } from '../../middleware/query.ts';
import { type NasDevice, type NasState, sleepInWorldTime } from '../../nas-state.ts';
import { emitCallEvent } from '../../protocol/collection-events.ts';
import {
  computeSpace,
  createDatasetFiles,
  parentDatasetOf,
  poolNameOf,
  realPath,
  thickReservation,
  zvolName,
} from '../../storage/dataset-files.ts';
import { getVm } from '../vm-records.ts';
import { describeDevice, displayedOrder, isRunningOrSuspended } from '../vm-runtime.ts';
import { type DeviceCreateRequest, deviceModelsOf } from './device-parameters.ts';
import { devicePathOf, validateDevice } from './validate-device.ts';

/** Options of a deletion. */
export interface DeviceDeleteOptions {
  readonly force: boolean;
  readonly raw_file: boolean;
  readonly zvol: boolean;
}

/** The device of this number. Throws the middleware's error for an unknown one. */
export function getDevice(nas: NasState, id: unknown): NasDevice {
  const device = nas.devices.get(Number(id));
  if (!device) throw instanceNotFound('VMDevice', id);
  return device;
}

/** `vm.device.nic_attach_choices`, in the form of the release. */
export function nicAttachChoices(nas: NasState): Entry {
  const links = [...nas.links.values()];
  if (nas.version.nicChoicesByKind) {
    const names = (isBridge: boolean) =>
      links.filter(({ type }) => (type === 'BRIDGE') === isBridge).map(({ name }) => name);
    return { BRIDGE: names(true), MACVLAN: names(false) };
  }
  return Object.fromEntries(
    links.map(({ name, description }) => [name, description ? `${name}: ${description}` : name]),
  );
}

/** `vm.device.create`. */
export async function createDevice(data: DeviceCreateRequest, { nas }: CallContext): Promise<Entry> {
  const vm = getVm(nas, data.vm);
  const wanted: NasDevice = { id: 0, vm: vm.id, order: data.order, attributes: { ...data.attributes } };
  await validateDevice(nas, vm, wanted, undefined);
  // A display has its ports from here on, and they count as used once it is stored (middleware:
  // plugins/vm/vm_devices.py, do_create).
  if (wanted.attributes['dtype'] === 'DISPLAY') await sleepInWorldTime(nas, 1);
  await prepareBacking(nas, wanted, undefined);
  // The database assigns the number when the row is written: other calls may have created devices meanwhile.
  const device: NasDevice = { ...wanted, id: nas.nextId.device++ };
  nas.devices.set(device.id, device);
  reorder(nas, device, data.order);
  const created = describeDevice(device);
  emitCallEvent(nas, 'vm.device.query', device.id, 'added', created);
  return created;
}

/** `vm.device.update`: attributes are merged. */
export async function updateDevice(
  id: unknown,
  data: Partial<DeviceCreateRequest>,
  { nas }: CallContext,
): Promise<Entry> {
  const old = getDevice(nas, id);
  const shown = describeDevice(old) as unknown as NasDevice;
  const merged = { ...shown.attributes, ...data.attributes };
  const attributes = parseValue(taggedUnionModel('dtype', deviceModelsOf(nas.version)), merged) as Entry;
  const next: NasDevice = {
    id: old.id,
    vm: data.vm ?? old.vm,
    order: data.order === undefined ? shown.order : data.order,
    attributes,
  };
  await validateDevice(nas, getVm(nas, next.vm), next, old);
  await prepareBacking(nas, next, old);
  Object.assign(old, next);
  reorder(nas, old, next.order);
  const updated = describeDevice(old);
  emitCallEvent(nas, 'vm.device.query', old.id, 'changed', updated);
  return updated;
}

/**
 * An order that another device has moves the others up, one after the other (middleware: plugins/vm/vm_devices.py,
 * reorder_devices).
 */
function reorder(nas: NasState, device: NasDevice, order: number | null): void {
  if (order === null) return;
  const others = [...nas.devices.values()].filter((one) => one.vm === device.vm && one !== device);
  if (!others.some((one) => displayedOrder(one) === order)) return;
  const used = [order];
  for (const other of others.sort((a, b) => displayedOrder(a) - displayedOrder(b))) {
    if (used.includes(displayedOrder(other))) {
      let next = Math.min(...used) + 1;
      while (used.includes(next)) next += 1;
      other.order = next;
    }
    used.push(displayedOrder(other));
  }
}

/** Creates the backend of a device and removes the attributes that are not stored. */
async function prepareBacking(nas: NasState, device: NasDevice, old: NasDevice | undefined): Promise<void> {
  const { attributes } = device;
  if (attributes['dtype'] === 'DISK') {
    const wanted = attributes['create_zvol'] === true;
    if (wanted) await createZvol(nas, String(attributes['zvol_name']), Number(attributes['zvol_volsize']));
    Object.assign(attributes, { create_zvol: false, zvol_name: null, zvol_volsize: null });
  }
  if (attributes['dtype'] !== 'RAW') return;
  const size = Number(attributes['size'] ?? 0);
  const path = realPath(nas, devicePathOf(device));
  if (!old && attributes['exists'] !== true) {
    await writeFile(path, '');
    await truncate(path, size);
  } else if (old && old.attributes['size'] !== attributes['size']) await truncate(path, size);
  attributes['exists'] = false;
}

async function createZvol(nas: NasState, name: string, bytes: number): Promise<void> {
  const available = computeSpace(nas).get(parentDatasetOf(name) ?? poolNameOf(name))?.available ?? 0;
  const refusals = new ArgumentErrors();
  if (bytes > available * 0.8) {
    const message = 'It is not recommended to use more than 80% of your available space for VOLUME';
    refusals.add('pool_dataset_create.volsize', message);
  }
  const block = nas.pools.get(poolNameOf(name))?.isDraid ? 131072 : 16384;
  if (bytes % block !== 0) {
    refusals.add('pool_dataset_create.volsize', 'Volume size should be a multiple of volume block size');
  }
  refusals.check();
  const dataset = newDataset(name, 'VOLUME');
  dataset.properties.set('volsize', String(bytes));
  dataset.properties.set('volblocksize', String(block));
  dataset.properties.set('refreservation', String(thickReservation(bytes, block)));
  nas.datasets.set(name, dataset);
  await createDatasetFiles(nas, dataset);
}

/** `vm.device.delete`. */
export async function deleteDevice(nas: NasState, id: unknown, options: DeviceDeleteOptions): Promise<true> {
  const device = getDevice(nas, id);
  if (isRunningOrSuspended(nas, getVm(nas, device.vm))) {
    throw new CallError('Please stop/resume associated VM before deleting VM device.');
  }
  try {
    await deleteBacking(nas, device, options);
  } catch (error) {
    if (!options.force || !(error instanceof CallError)) throw error;
  }
  nas.devices.delete(device.id);
  emitCallEvent(nas, 'vm.device.query', device.id, 'removed');
  return true;
}

async function deleteBacking(nas: NasState, device: NasDevice, options: DeviceDeleteOptions): Promise<void> {
  const { dtype } = device.attributes;
  const path = devicePathOf(device);
  if (options.zvol) {
    if (dtype !== 'DISK') throw new CallError('The device is not a disk and has no zvol to destroy.');
    const dataset = nas.datasets.get(zvolName(path));
    if (dataset && isBusy(nas, dataset)) {
      const message = `Failed to delete dataset: cannot destroy '${dataset.id}': dataset is busy`;
      throw new CallError(message, errnos.EBUSY);
    }
    if (dataset) await destroyTree(nas, dataset);
  }
  if (!options.raw_file) return;
  if (dtype !== 'RAW') throw new CallError('Device is not of RAW type.');
  try {
    await unlink(realPath(nas, path));
    nas.fileMarks.delete(path);
  } catch {
    throw new CallError(`Failed to destroy ${path}`);
  }
}
