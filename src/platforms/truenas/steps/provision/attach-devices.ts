import { z } from 'zod';
import { done, fail, type Step, wait } from '../../../../engine/step.ts';
import { type Vm, VmDevice } from '../../api/schema.ts';
import { SystemInformer } from '../../cache/system-informer.ts';
import { additionalCardsOf } from '../../config/cards.ts';
import { getDisplayPassword, hasDisplay } from '../../config/display.ts';
import { dataDisksOf } from '../../resources/disk/data-disks.ts';
import { vmIdentityOf } from '../../resources/identity.ts';
import { assertImageUnchanged, cachedImageOf, parseImageFacts } from '../../resources/image/cached-image.ts';
import {
  getFact,
  getKnownVm,
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
import { serializeDisplayCreation } from '../../resources/vm/serialize-display-creation.ts';

/**
 * Before: disk, image, seed and VM exist. After: the VM has all its devices, each at its place in the boot order. Done
 * when none is missing or different; devices that a user added are not touched.
 */
export const devicesAttached: Step<TrueNasStepContext> = {
  name: 'devices-attached',
  async run(context) {
    const system = machineScopeOf(context);
    const vm = await getKnownVm(system);
    await attachMissing(context, system, vm);
    return done();
  },
};

/** Descriptions of the devices that were missing or different and were attached again. */
async function attachMissing(context: TrueNasStepContext, system: MachineScope, vm: Vm): Promise<readonly string[]> {
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
  for (const { one, device } of todo) await attachDevice(system, vm.id, one, device);
  return todo.map(({ one }) => one.description);
}

export async function attachDevice(
  system: MachineScope,
  vm: number,
  wanted: DesiredDevice,
  device: VmDevice | undefined,
): Promise<void> {
  const { nas, signal } = system;
  const { order, attributes, secret } = wanted;
  const change = async (): Promise<void> => {
    const request = { vm, order, attributes: { ...attributes, ...secret } };
    if (device) await nas.change('vm.device.update', [device.id, { order, attributes }], VmDevice, { signal });
    else await nas.change('vm.device.create', [request], VmDevice, { signal });
  };
  await (attributes.dtype === 'DISPLAY' ? serializeDisplayCreation(nas, change, signal) : change());
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
  const { nas, signal } = machineScopeOf(context);
  const file = await SystemInformer.of(nas).file(getFact(context, 'image'), {}, signal);
  assertImageUnchanged(cachedImageOf(context), noted, file);
}

/**
 * Before: devices were attached. After: it is verified that the machine has all of them and boots from its disk once it
 * is installed. Done when the recent answers of TrueNAS, or a new read, confirm it.
 */
export const devicesVerified: Step<TrueNasStepContext> = {
  name: 'devices-verified',
  async run(context) {
    const system = machineScopeOf(context);
    const vm = await getKnownVm(system);
    const outcome = await attachMissing(context, system, vm);
    const names = outcome.join(', ');
    if (outcome.length > 0) return wait(1, `${names} was missing or changed and was restored.`);
    const disk = `/dev/zvol/${system.identity.zvol}`;
    const first = firstBootPath(vm.devices);
    if (first === disk) return done();
    return fail(
      'BootOrder',
      `${vm.name} would boot from ${first ?? 'nothing'} before its disk ${disk}. Set the order of that device above 1501.`,
    );
  },
};
