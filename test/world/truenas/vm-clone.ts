import { randomUUID } from 'node:crypto';
import { CallError, errnos, Refusals } from './errors.ts';
import { devicesOf, nameOf, shownOrder } from './machines.ts';
import type { Context, Method } from './method.ts';
import { nullable, text, withDefault } from './model.ts';
import type { Device, Nas, Vm } from './nas.ts';
import type { Entry } from './query.ts';
import { cloneSnapshot, takeSnapshot } from './snapshots.ts';
import { zvolName, zvolPath } from './storage.ts';
import { createDevice } from './vm-device-table.ts';
import { byId, write } from './vm-model.ts';
import { createVm, getVm } from './vm-table.ts';

/** `vm.clone`: a VM of its own on clones of the disks, with everything else alike, the description too. */
export const cloneMethods: readonly Method[] = [
  {
    name: 'vm.clone',
    parameters: [byId, { name: 'name', field: withDefault(nullable(text()), null) }],
    access: write,
    run: async ([id, name], context) => {
      await cloneVm(getVm(context.nas, id), name as string | null, context);
      return true;
    },
  },
];

async function cloneVm(vm: Vm, wanted: string | null, context: Context): Promise<void> {
  const { nas } = context;
  const devices = devicesOf(nas, vm);
  const refusals = new Refusals();
  for (const [index, { attributes }] of devices.entries()) {
    if (attributes['dtype'] !== 'DISPLAY' || attributes['password']) continue;
    const message = 'Password must be configured for display device in order to clone the VM.';
    refusals.add(`vm.devices.${index}.attributes.password`, message);
  }
  refusals.check();
  const name = wanted ?? nextName(nas, nameOf(vm));
  const created = createVm({ ...vm.row, name, uuid: randomUUID() }, context);
  for (const device of devices) {
    const attributes = await toCopy(nas, name, device);
    if (attributes) await createDevice({ vm: Number(created['id']), order: shownOrder(device), attributes }, context);
  }
}

function nextName(nas: Nas, name: string): string {
  const taken = new Set([...nas.vms.values()].map(nameOf));
  const candidates = Array.from({ length: taken.size + 1 }, (_, index) => `${name}_clone${index}`);
  return candidates.find((one) => !taken.has(one)) ?? name;
}

/** What the copy of a device has; undefined for a file of raw bytes, which is left out. */
async function toCopy(nas: Nas, name: string, { attributes }: Device): Promise<Entry | undefined> {
  const copy = { ...attributes };
  if (copy['dtype'] === 'RAW') return undefined;
  if (copy['dtype'] === 'NIC') copy['mac'] = null;
  if (copy['dtype'] === 'DISPLAY') Object.assign(copy, { port: null, web_port: null });
  if (copy['dtype'] === 'DISK') copy['path'] = await cloneZvol(nas, name, zvolName(String(copy['path'])));
  return copy;
}

async function cloneZvol(nas: Nas, name: string, zvol: string): Promise<string> {
  if (!nas.datasets.has(zvol)) throw new CallError(`zvol ${zvol} does not exist.`, errnos.ENOENT);
  const free = (taken: (candidate: string) => boolean): string => {
    for (let index = -1; ; index++) {
      const candidate = index < 0 ? name : `${name}_clone${index}`;
      if (!taken(candidate)) return candidate;
    }
  };
  const snapshot = await takeSnapshot(
    nas,
    zvol,
    free((one) => nas.snapshots.has(`${zvol}@${one}`)),
  );
  const target = `${zvol}_${free((one) => nas.datasets.has(`${zvol}_${one}`))}`;
  await cloneSnapshot(nas, snapshot, target);
  return zvolPath(target);
}
