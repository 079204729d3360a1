import { z } from 'zod';
import { done, type Step } from '../../../../engine/step.ts';
import type { Vm, VmDevice } from '../../api/schema.ts';
import {
  findFile,
  findVm,
  isVmActive,
  type MachineScope,
  machineScopeOf,
  type TrueNasStepContext,
} from '../../resources/machine-scope.ts';
import { type DesiredDevice, differingSettings } from '../../resources/vm/desired-vm.ts';
import { attachDevice, desiredDevicesOf } from '../provision/attach-devices.ts';
import type { TrueNasRepairContext } from './repair-context.ts';

/**
 * Before: the VM may run. After: a VM that is off has its disks, its network cards and its display, each at its place.
 * Done when none is missing. A card on another bridge is moved back only when approved. Discs are only needed for the
 * installation and are not attached again.
 */
export const devicesRestored: Step<TrueNasRepairContext> = {
  name: 'devices-restored',
  async run(context) {
    const system = machineScopeOf(context);
    const { own: vm } = await findVm(system);
    if (!vm || isVmActive(vm)) return done();
    for (const { one, device } of missingDevicesOf(context, vm)) await attachDevice(system, vm.id, one, device);
    return done();
  },
};

interface MissingDevice {
  readonly one: DesiredDevice;
  readonly device: VmDevice | undefined;
}

function missingDevicesOf(context: TrueNasRepairContext, vm: Vm): MissingDevice[] {
  const moves = context.reasons.includes('CardMoved');
  // The password of a display is needed only to create one.
  return desiredDevicesOf(context, context.reasons.includes('DisplayMissing')).flatMap((one): MissingDevice[] => {
    if (one.attributes.dtype === 'CDROM') return [];
    const device = vm.devices.find((candidate) => one.matches(candidate));
    if (!device) return [{ one, device }];
    const moved = one.attributes.dtype === 'NIC' && differingSettings(device, one).includes('nic_attach');
    return moved && moves ? [{ one, device }] : [];
  });
}

/**
 * Before: the VM is off. After: none of our discs prevents its start: a disc whose file is missing is detached, and an
 * installed machine does not need it. Done when there is none.
 */
export const cdromsUsable: Step<TrueNasRepairContext> = {
  name: 'discs-usable',
  async run(context) {
    const system = machineScopeOf(context);
    const { own: vm } = await findVm(system);
    if (!vm || isVmActive(vm) || context.facts['joined'] !== true) return done();
    for (const disc of ownCdroms(context, system, vm)) {
      if (await findFile(system, String(disc.attributes.path))) continue;
      const keep = { zvol: false, raw_file: false, force: false };
      await system.nas.change('vm.device.delete', [disc.id, keep], z.unknown(), { signal: context.signal });
    }
    return done();
  },
};

function ownCdroms(context: TrueNasStepContext, { identity }: MachineScope, { devices }: Vm): readonly VmDevice[] {
  const image = String(context.facts['image']);
  return devices.filter(
    ({ attributes: { dtype, path } }) =>
      dtype === 'CDROM' && (path === image || path?.startsWith(`/mnt/${identity.dataset}/`) === true),
  );
}
