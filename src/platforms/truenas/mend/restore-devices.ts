import { z } from 'zod';
import { done, type Step } from '../../../engine/platform.ts';
import { differences, type WantedDevice } from '../machine.ts';
import { attach, wantedDevices } from '../provision/attach-devices.ts';
import type { Vm, VmDevice } from '../schema.ts';
import { type Context, findFile, findVm, isActive, type System, systemOf } from '../system.ts';
import type { MendingContext } from './context.ts';

/**
 * Before: the VM may run. After: one that is off has its disks, its network cards and its display, each in its place. Done when none is missing.
 * A card that is attached elsewhere is put back only where people agreed to that. Discs are for the installation, and are not missed.
 */
export const devicesRestored: Step<MendingContext> = {
  name: 'devices-restored',
  async run(context) {
    const system = systemOf(context);
    const { own: vm } = await findVm(system);
    if (!vm || isActive(vm)) return done();
    for (const { one, device } of lacking(context, vm)) await attach(system, vm.id, one, device);
    return done();
  },
};

interface Lack {
  readonly one: WantedDevice;
  readonly device: VmDevice | undefined;
}

function lacking(context: MendingContext, vm: Vm): Lack[] {
  const moves = context.reasons.includes('CardMoved');
  // The password of a display is asked for only where one is made.
  return wantedDevices(context, context.reasons.includes('DisplayMissing')).flatMap((one): Lack[] => {
    if (one.attributes.dtype === 'CDROM') return [];
    const device = vm.devices.find((candidate) => one.matches(candidate));
    if (!device) return [{ one, device }];
    const moved = one.attributes.dtype === 'NIC' && differences(device, one).includes('nic_attach');
    return moved && moves ? [{ one, device }] : [];
  });
}

/**
 * Before: the VM is off. After: none of our discs keeps it from starting: one whose file is gone is detached, and an installed machine
 * does not need it. Done when there is none.
 */
export const discsUsable: Step<MendingContext> = {
  name: 'discs-usable',
  async run(context) {
    const system = systemOf(context);
    const { own: vm } = await findVm(system);
    if (!vm || isActive(vm) || context.facts['joined'] !== true) return done();
    for (const disc of ourDiscs(context, system, vm)) {
      if (await findFile(system, String(disc.attributes.path))) continue;
      const keep = { zvol: false, raw_file: false, force: false };
      await system.nas.change('vm.device.delete', [disc.id, keep], z.unknown(), { signal: context.signal });
    }
    return done();
  },
};

function ourDiscs(context: Context, { identity }: System, { devices }: Vm): readonly VmDevice[] {
  const image = String(context.facts['image']);
  return devices.filter(
    ({ attributes: { dtype, path } }) =>
      dtype === 'CDROM' && (path === image || path?.startsWith(`/mnt/${identity.dataset}/`) === true),
  );
}
