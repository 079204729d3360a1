import { randomUUID } from 'node:crypto';
import { ArgumentErrors, CallError, errnos } from '../middleware/errors.ts';
import type { ApiMethod, CallContext } from '../middleware/method.ts';
import { defaultedField, nullableModel, textModel } from '../middleware/parameter-model.ts';
import type { Entry } from '../middleware/query.ts';
import type { NasDevice, NasState, NasVm } from '../nas-state.ts';
import { zvolName, zvolPath } from '../storage/dataset-files.ts';
import { cloneSnapshot, takeSnapshot } from '../storage/snapshots.ts';
import { createDevice } from './device/device-records.ts';
import { vmIdParameter, vmWriteRoles } from './vm-parameters.ts';
import { createVm, getVm } from './vm-records.ts';
import { devicesOf, displayedOrder, vmNameOf } from './vm-runtime.ts';

/** `vm.clone`: a new VM on clones of the disks. Everything else is equal, including the description. */
export const cloneMethods: readonly ApiMethod[] = [
  {
    name: 'vm.clone',
    parameters: [vmIdParameter, { name: 'name', field: defaultedField(nullableModel(textModel()), null) }],
    access: vmWriteRoles,
    run: async ([id, name], context) => {
      await cloneVm(getVm(context.nas, id), name as string | null, context);
      return true;
    },
  },
];

async function cloneVm(vm: NasVm, wanted: string | null, context: CallContext): Promise<void> {
  const { nas } = context;
  const devices = devicesOf(nas, vm);
  const refusals = new ArgumentErrors();
  for (const [index, { attributes }] of devices.entries()) {
    if (attributes['dtype'] !== 'DISPLAY' || attributes['password']) continue;
    const message = 'Password must be configured for display device in order to clone the VM.';
    refusals.add(`vm.devices.${index}.attributes.password`, message);
  }
  refusals.check();
  const name = wanted ?? nextName(nas, vmNameOf(vm));
  const created = createVm({ ...vm.row, name, uuid: randomUUID() }, context);
  for (const device of devices) {
    const attributes = await copiedDevice(nas, name, device);
    if (attributes)
      await createDevice({ vm: Number(created['id']), order: displayedOrder(device), attributes }, context);
  }
}

function nextName(nas: NasState, name: string): string {
  const taken = new Set([...nas.vms.values()].map(vmNameOf));
  const candidates = Array.from({ length: taken.size + 1 }, (_, index) => `${name}_clone${index}`);
  return candidates.find((one) => !taken.has(one)) ?? name;
}

/** The attributes of a cloned device; undefined for a RAW file, which is skipped. */
async function copiedDevice(nas: NasState, name: string, { attributes }: NasDevice): Promise<Entry | undefined> {
  const copy = { ...attributes };
  if (copy['dtype'] === 'RAW') return undefined;
  if (copy['dtype'] === 'NIC') copy['mac'] = null;
  if (copy['dtype'] === 'DISPLAY') Object.assign(copy, { port: null, web_port: null });
  if (copy['dtype'] === 'DISK') copy['path'] = await cloneZvol(nas, name, zvolName(String(copy['path'])));
  return copy;
}

async function cloneZvol(nas: NasState, name: string, zvol: string): Promise<string> {
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
