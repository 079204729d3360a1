import { z } from 'zod';
import { done, fail, type Step, wait } from '../../../../engine/step.ts';
import { type Vm, VmDevice } from '../../api/schema.ts';
import { additionalCardsOf } from '../../config/cards.ts';
import { getDisplayPassword, hasDisplay, serializeDisplayCreation } from '../../config/display.ts';
import { dataDisksOf } from '../../resources/disk/data-disks.ts';
import { vmIdentityOf } from '../../resources/identity.ts';
import { assertImageUnchanged, cachedImageOf, parseImageFacts } from '../../resources/image/cached-image.ts';
import {
  findFile,
  getFact,
  getOwnVm,
  isVmActive,
  type MachineScope,
  machineScopeOf,
  type TrueNasStepContext,
} from '../../resources/machine-scope.ts';
import {
  type DesiredDevice,
  differingSettings,
  firstBootPath,
  toDesiredDevices,
} from '../../resources/vm/desired-vm.ts';

/**
 * Before: disk, image, seed and VM exist. After: the VM has all its devices, each at its place in the boot order. Done
 * when none is missing or different; devices that a user added are not touched.
 */
export const devicesAttached: Step<TrueNasStepContext> = {
  name: 'devices-attached',
  async run(context) {
    const system = machineScopeOf(context);
    const vm = await getOwnVm(system);
    const attached = await attachMissing(context, system, vm);
    // Other devices may have been moved, because TrueNAS keeps no two devices at one place.
    if (vm.devices.length === 0 && !isVmActive(vm)) {
      system.cache?.returnVm({ ...vm, devices: attached.map(({ answered }) => answered) });
    }
    return done();
  },
};

interface AttachedDevice {
  readonly description: string;
  /** The device as TrueNAS answered it. */
  readonly answered: VmDevice;
}

/** The devices that were missing or different and were attached again. */
async function attachMissing(
  context: TrueNasStepContext,
  system: MachineScope,
  vm: Vm,
): Promise<readonly AttachedDevice[]> {
  const todo = desiredDevicesOf(context).flatMap((one) => {
    const device = vm.devices.find((candidate) => one.matches(candidate));
    return device && differingSettings(device, one).length === 0 ? [] : [{ one, device }];
  });
  if (todo.length === 0) return [];
  await assertImageStillUnchanged(context);
  // A machine that started without its devices, e.g. when the system rebooted, does nothing useful.
  if (isVmActive(vm) && context.facts['started'] !== true) {
    await system.nas.change('vm.poweroff', [vm.id], z.unknown(), { signal: context.signal, seconds: 60 });
  }
  const attached: AttachedDevice[] = [];
  for (const { one, device } of todo) {
    attached.push({ description: one.description, answered: await attachDevice(system, vm.id, one, device) });
  }
  return attached;
}

export async function attachDevice(
  system: MachineScope,
  vm: number,
  wanted: DesiredDevice,
  device: VmDevice | undefined,
): Promise<VmDevice> {
  const { nas, signal } = system;
  const { order, attributes, secret } = wanted;
  const change = async (): Promise<VmDevice> => {
    if (device) return await nas.change('vm.device.update', [device.id, { order, attributes }], VmDevice, { signal });
    const request = { vm, order, attributes: { ...attributes, ...secret } };
    return await nas.change('vm.device.create', [request], VmDevice, { signal });
  };
  return await (attributes.dtype === 'DISPLAY' ? serializeDisplayCreation(nas, change, signal) : change());
}

/** `display`: whether a display is desired, which needs a password. */
export function desiredDevicesOf(context: TrueNasStepContext, display = hasDisplay(context)): readonly DesiredDevice[] {
  const identity = vmIdentityOf(context);
  const { zvol, dataset, mac } = identity;
  return toDesiredDevices({
    zvol,
    dataZvols: dataDisksOf(context).map((disk) => disk.zvol),
    images: cachedImageOf(context).folder,
    image: getFact(context, 'image'),
    seeds: `/mnt/${dataset}`,
    seed: getFact(context, 'seed'),
    mac,
    bridge: context.config.bridge,
    cards: additionalCardsOf(context, identity),
    display: display ? getDisplayPassword(context.credentials, context.config.credentialsRef.name) : undefined,
  });
}

async function assertImageStillUnchanged(context: TrueNasStepContext): Promise<void> {
  const noted = parseImageFacts(context.facts);
  if (!noted) return;
  const path = getFact(context, 'image');
  assertImageUnchanged(
    cachedImageOf(context),
    noted,
    context.cache?.file(path) ?? (await findFile(machineScopeOf(context), path)),
  );
}

/**
 * Before: devices were attached. After: it is verified that the machine has all of them and boots from its disk once it
 * is installed. Done when the recent answers of TrueNAS, or a new read, confirm it.
 */
export const devicesVerified: Step<TrueNasStepContext> = {
  name: 'devices-verified',
  async run(context) {
    const system = machineScopeOf(context);
    const vm = await getOwnVm(system);
    const mended = await attachMissing(context, system, vm);
    const names = mended.map(({ description }) => description).join(', ');
    if (mended.length > 0) return wait(1, `${names} had got lost or changed and is back.`);
    const disk = `/dev/zvol/${system.identity.zvol}`;
    const first = firstBootPath(vm.devices);
    system.cache?.returnVm(vm);
    if (first === disk) return done();
    return fail(
      'BootOrder',
      `${vm.name} would boot from ${first ?? 'nothing'} before its disk ${disk}. Give that device an order above 1501.`,
    );
  },
};
