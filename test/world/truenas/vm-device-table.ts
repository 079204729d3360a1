import { truncate, unlink, writeFile } from 'node:fs/promises';
import { destroyTree, isBusy } from './dataset-delete.ts';
import { newDataset } from './dataset-properties.ts';
import { CallError, errnos, notFound, Refusals } from './errors.ts';
import { tellOfCall } from './events.ts';
import { describeDevice, isActive, shownOrder } from './machines.ts';
import type { Context } from './method.ts';
import { readValue, tagged } from './model.ts';
import { type Device, type Nas, pause } from './nas.ts';
import type { Entry } from './query.ts';
import { materialize, parentOf, poolOf, realPath, reckonSpace, thickReservation, zvolName } from './storage.ts';
import { checkDevice, pathOf } from './vm-device-check.ts';
import { deviceModels, type NewDevice } from './vm-device-model.ts';
import { getVm } from './vm-table.ts';

/** Options of a deletion. */
export interface Deletion {
  readonly force: boolean;
  readonly raw_file: boolean;
  readonly zvol: boolean;
}

/** The device of this number. Throws the answer for one that is not there. */
export function getDevice(nas: Nas, id: unknown): Device {
  const device = nas.devices.get(Number(id));
  if (!device) throw notFound('VMDevice', id);
  return device;
}

/** `vm.device.nic_attach_choices`, in the form of the release. */
export function nicChoices(nas: Nas): Entry {
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
export async function createDevice(data: NewDevice, { nas }: Context): Promise<Entry> {
  const vm = getVm(nas, data.vm);
  const wanted: Device = { id: 0, vm: vm.id, order: data.order, attributes: { ...data.attributes } };
  await checkDevice(nas, vm, wanted, undefined);
  // A display has its ports from here on, and others find them taken once it is written down
  // (middleware: plugins/vm/vm_devices.py, do_create).
  if (wanted.attributes['dtype'] === 'DISPLAY') await pause(nas, 1);
  await prepare(nas, wanted, undefined);
  // The number is given by the database when the row is written: other calls may have made devices meanwhile.
  const device: Device = { ...wanted, id: nas.nextId.device++ };
  nas.devices.set(device.id, device);
  reorder(nas, device, data.order);
  const created = describeDevice(device);
  tellOfCall(nas, 'vm.device.query', device.id, 'added', created);
  return created;
}

/** `vm.device.update`: attributes are merged. */
export async function updateDevice(id: unknown, data: Partial<NewDevice>, { nas }: Context): Promise<Entry> {
  const old = getDevice(nas, id);
  const shown = describeDevice(old) as unknown as Device;
  const merged = { ...shown.attributes, ...data.attributes };
  const attributes = readValue(tagged('dtype', deviceModels(nas.version)), merged) as Entry;
  const next: Device = {
    id: old.id,
    vm: data.vm ?? old.vm,
    order: data.order === undefined ? shown.order : data.order,
    attributes,
  };
  await checkDevice(nas, getVm(nas, next.vm), next, old);
  await prepare(nas, next, old);
  Object.assign(old, next);
  reorder(nas, old, next.order);
  const updated = describeDevice(old);
  tellOfCall(nas, 'vm.device.query', old.id, 'changed', updated);
  return updated;
}

/**
 * An order that another device shows moves the others on, one after the other
 * (middleware: plugins/vm/vm_devices.py, reorder_devices).
 */
function reorder(nas: Nas, device: Device, order: number | null): void {
  if (order === null) return;
  const others = [...nas.devices.values()].filter((one) => one.vm === device.vm && one !== device);
  if (!others.some((one) => shownOrder(one) === order)) return;
  const used = [order];
  for (const other of others.sort((a, b) => shownOrder(a) - shownOrder(b))) {
    if (used.includes(shownOrder(other))) {
      let next = Math.min(...used) + 1;
      while (used.includes(next)) next += 1;
      other.order = next;
    }
    used.push(shownOrder(other));
  }
}

/** Makes what the device needs and forgets what is not stored. */
async function prepare(nas: Nas, device: Device, old: Device | undefined): Promise<void> {
  const { attributes } = device;
  if (attributes['dtype'] === 'DISK') {
    const wanted = attributes['create_zvol'] === true;
    if (wanted) await createZvol(nas, String(attributes['zvol_name']), Number(attributes['zvol_volsize']));
    Object.assign(attributes, { create_zvol: false, zvol_name: null, zvol_volsize: null });
  }
  if (attributes['dtype'] !== 'RAW') return;
  const size = Number(attributes['size'] ?? 0);
  const path = realPath(nas, pathOf(device));
  if (!old && attributes['exists'] !== true) {
    await writeFile(path, '');
    await truncate(path, size);
  } else if (old && old.attributes['size'] !== attributes['size']) await truncate(path, size);
  attributes['exists'] = false;
}

async function createZvol(nas: Nas, name: string, bytes: number): Promise<void> {
  const available = reckonSpace(nas).get(parentOf(name) ?? poolOf(name))?.available ?? 0;
  const refusals = new Refusals();
  if (bytes > available * 0.8) {
    const message = 'It is not recommended to use more than 80% of your available space for VOLUME';
    refusals.add('pool_dataset_create.volsize', message);
  }
  const block = nas.pools.get(poolOf(name))?.isDraid ? 131072 : 16384;
  if (bytes % block !== 0) {
    refusals.add('pool_dataset_create.volsize', 'Volume size should be a multiple of volume block size');
  }
  refusals.check();
  const dataset = newDataset(name, 'VOLUME');
  dataset.properties.set('volsize', String(bytes));
  dataset.properties.set('volblocksize', String(block));
  dataset.properties.set('refreservation', String(thickReservation(bytes, block)));
  nas.datasets.set(name, dataset);
  await materialize(nas, dataset);
}

/** `vm.device.delete`. */
export async function deleteDevice(nas: Nas, id: unknown, options: Deletion): Promise<true> {
  const device = getDevice(nas, id);
  if (isActive(nas, getVm(nas, device.vm))) {
    throw new CallError('Please stop/resume associated VM before deleting VM device.');
  }
  try {
    await deleteBehind(nas, device, options);
  } catch (error) {
    if (!options.force || !(error instanceof CallError)) throw error;
  }
  nas.devices.delete(device.id);
  tellOfCall(nas, 'vm.device.query', device.id, 'removed');
  return true;
}

async function deleteBehind(nas: Nas, device: Device, options: Deletion): Promise<void> {
  const { dtype } = device.attributes;
  const path = pathOf(device);
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
