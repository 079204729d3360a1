import { CallError, instanceNotFound } from '../../middleware/errors.ts';
import type { CallContext } from '../../middleware/method.ts';
import { parseValue, taggedUnionModel } from '../../middleware/parameter-model.ts';
import type { Entry } from '../../middleware/query.ts';
import { type NasDevice, type NasState, sleepInWorldTime } from '../../nas-state.ts';
import { emitCallEvent } from '../../protocol/collection-events.ts';
import { getVm } from '../vm-records.ts';
import { describeDevice, displayedOrder, isRunningOrSuspended } from '../vm-runtime.ts';
import { type DeviceCreateRequest, deviceModelsOf } from './device-parameters.ts';
import { validateDevice } from './validate-device.ts';

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

/** `vm.device.delete`. */
export function deleteDevice(nas: NasState, id: unknown): true {
  const device = getDevice(nas, id);
  if (isRunningOrSuspended(nas, getVm(nas, device.vm))) {
    throw new CallError('Please stop/resume associated VM before deleting VM device.');
  }
  nas.devices.delete(device.id);
  emitCallEvent(nas, 'vm.device.query', device.id, 'removed');
  return true;
}
