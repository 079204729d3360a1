import { z } from 'zod';
import { done, fail, type Step, wait } from '../../../engine/platform.ts';
import { cardsOf } from '../cards.ts';
import { dataDisksOf } from '../data-disks.ts';
import { demandPassword, hasDisplay, inLine } from '../display.ts';
import { identityOf } from '../identity.ts';
import { checkImage, imageOf, notedImage } from '../image.ts';
import { describeDevices, differences, firstToBoot, type WantedDevice } from '../machine.ts';
import type { Vm, VmDevice } from '../schema.ts';
import { type Context, demandVm, factOf, findFile, getVm, isActive, type System, systemOf } from '../system.ts';

/**
 * Before: disk, image and seed exist, and so does the VM. After: it has all its devices, each in its place. Done when none
 * is missing or different; others that somebody added are left alone.
 */
export const devicesAttached: Step<Context> = {
  name: 'devices-attached',
  async run(context) {
    const system = systemOf(context);
    await attachMissing(context, system, await demandVm(system));
    return done();
  },
};

/** In words what was missing or different and has been put right; empty when nothing was. */
async function attachMissing(context: Context, system: System, vm: Vm): Promise<readonly string[]> {
  const todo = wantedDevices(context).flatMap((one) => {
    const device = vm.devices.find((candidate) => one.matches(candidate));
    return device && differences(device, one).length === 0 ? [] : [{ one, device }];
  });
  if (todo.length === 0) return [];
  await checkImageAgain(context);
  // A machine that started without its devices, say because the system rebooted, does nothing useful.
  if (isActive(vm) && context.facts['started'] !== true) {
    await system.nas.change('vm.poweroff', [vm.id], z.unknown(), { signal: context.signal, seconds: 60 });
  }
  for (const { one, device } of todo) await attach(system, vm.id, one, device);
  return todo.map(({ one }) => one.what);
}

export async function attach(
  system: System,
  vm: number,
  wanted: WantedDevice,
  device: VmDevice | undefined,
): Promise<void> {
  const { nas, signal } = system;
  const { order, attributes, secret } = wanted;
  const change = async (): Promise<unknown> => {
    if (device)
      return await nas.change('vm.device.update', [device.id, { order, attributes }], z.unknown(), { signal });
    const request = { vm, order, attributes: { ...attributes, ...secret } };
    return await nas.change('vm.device.create', [request], z.unknown(), { signal });
  };
  await (attributes.dtype === 'DISPLAY' ? inLine(nas, change, signal) : change());
}

/** `display`: whether one is wanted, for which there has to be a password then. */
export function wantedDevices(context: Context, display = hasDisplay(context)): readonly WantedDevice[] {
  const identity = identityOf(context);
  const { zvol, dataset, mac } = identity;
  return describeDevices({
    zvol,
    dataZvols: dataDisksOf(context).map((disk) => disk.zvol),
    images: imageOf(context).folder,
    image: factOf(context, 'image'),
    seeds: `/mnt/${dataset}`,
    seed: factOf(context, 'seed'),
    mac,
    bridge: context.config.bridge,
    cards: cardsOf(context, identity),
    display: display ? demandPassword(context.credentials, context.config.credentialsRef.name) : undefined,
  });
}

async function checkImageAgain(context: Context): Promise<void> {
  const noted = notedImage(context.facts);
  if (noted) checkImage(imageOf(context), noted, await findFile(systemOf(context), factOf(context, 'image')));
}

/**
 * Before: devices were attached. After: it is certain that the machine has them all and boots from its disk as soon as
 * there is something on it. Done when a fresh look says so.
 */
export const devicesVerified: Step<Context> = {
  name: 'devices-verified',
  async run(context) {
    const system = systemOf(context);
    const vm = await getVm(system);
    const mended = await attachMissing(context, system, vm);
    if (mended.length > 0) return wait(1, `${mended.join(', ')} had got lost or changed and is back.`);
    const disk = `/dev/zvol/${system.identity.zvol}`;
    const first = firstToBoot(vm.devices);
    system.handover?.noteVm(vm);
    if (first === disk) return done();
    return fail(
      'BootOrder',
      `${vm.name} would boot from ${first ?? 'nothing'} before its disk ${disk}. Give that device an order above 1501.`,
    );
  },
};
