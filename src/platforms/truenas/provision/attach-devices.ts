import { z } from 'zod';
import { done, fail, type Step, wait } from '../../../engine/platform.ts';
import { cardsOf } from '../cards.ts';
import { dataDisksOf } from '../data-disks.ts';
import { demandPassword, hasDisplay, inLine } from '../display.ts';
import { identityOf } from '../identity.ts';
import { checkImage, imageOf, notedImage } from '../image.ts';
import { describeDevices, differences, firstToBoot, type WantedDevice } from '../machine.ts';
import { type Vm, VmDevice } from '../schema.ts';
import { type Context, demandVm, factOf, findFile, isActive, type System, systemOf } from '../system.ts';

/**
 * Before: disk, image and seed exist, and so does the VM. After: it has all its devices, each in its place. Done when none
 * is missing or different; others that somebody added are left alone.
 */
export const devicesAttached: Step<Context> = {
  name: 'devices-attached',
  async run(context) {
    const system = systemOf(context);
    const vm = await demandVm(system);
    const attached = await attachMissing(context, system, vm);
    // Where others were there, they may have been moved: TrueNAS keeps no two devices in one place.
    if (vm.devices.length === 0 && !isActive(vm)) {
      system.handover?.giveVmBack({ ...vm, devices: attached.map(({ answered }) => answered) });
    }
    return done();
  },
};

interface Attached {
  readonly what: string;
  /** The device as TrueNAS says that it is now. */
  readonly answered: VmDevice;
}

/** What was missing or different and has been put right; empty when nothing was. */
async function attachMissing(context: Context, system: System, vm: Vm): Promise<readonly Attached[]> {
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
  const attached: Attached[] = [];
  for (const { one, device } of todo) {
    attached.push({ what: one.what, answered: await attach(system, vm.id, one, device) });
  }
  return attached;
}

export async function attach(
  system: System,
  vm: number,
  wanted: WantedDevice,
  device: VmDevice | undefined,
): Promise<VmDevice> {
  const { nas, signal } = system;
  const { order, attributes, secret } = wanted;
  const change = async (): Promise<VmDevice> => {
    if (device) return await nas.change('vm.device.update', [device.id, { order, attributes }], VmDevice, { signal });
    const request = { vm, order, attributes: { ...attributes, ...secret } };
    return await nas.change('vm.device.create', [request], VmDevice, { signal });
  };
  return await (attributes.dtype === 'DISPLAY' ? inLine(nas, change, signal) : change());
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
  if (!noted) return;
  const path = factOf(context, 'image');
  checkImage(imageOf(context), noted, context.handover?.file(path) ?? (await findFile(systemOf(context), path)));
}

/**
 * Before: devices were attached. After: it is certain that the machine has them all and boots from its disk as soon as
 * there is something on it. Done when what TrueNAS answered of each of them a moment ago says so, or a look.
 */
export const devicesVerified: Step<Context> = {
  name: 'devices-verified',
  async run(context) {
    const system = systemOf(context);
    const vm = await demandVm(system);
    const mended = await attachMissing(context, system, vm);
    const names = mended.map(({ what }) => what).join(', ');
    if (mended.length > 0) return wait(1, `${names} had got lost or changed and is back.`);
    const disk = `/dev/zvol/${system.identity.zvol}`;
    const first = firstToBoot(vm.devices);
    system.handover?.giveVmBack(vm);
    if (first === disk) return done();
    return fail(
      'BootOrder',
      `${vm.name} would boot from ${first ?? 'nothing'} before its disk ${disk}. Give that device an order above 1501.`,
    );
  },
};
