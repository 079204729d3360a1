import { z } from 'zod';
import { done, returnToStep, type Step, type StepOutcome, wait } from '../../../../engine/step.ts';
import type { Vm } from '../../api/schema.ts';
import { additionalCardsOf, desiredBridgesFact } from '../../config/cards.ts';
import { compareHardware, differingHardware } from '../../resources/hardware/compare-hardware.ts';
import {
  findVm,
  getKnownVm,
  getVmSize,
  isVmActive,
  type MachineScope,
  machineScopeOf,
  readAllVms,
  type TrueNasStepContext,
} from '../../resources/machine-scope.ts';
import { differingSettings } from '../../resources/vm/desired-vm.ts';
import { attachDevice, desiredDevicesOf } from '../provision/attach-devices.ts';
import { failWhenMacTaken } from '../provision/fail-when-mac-taken.ts';
import { memoryTableOf, waitForMemory } from '../provision/reserve-resources.ts';
import { startVm } from '../repair/start-again.ts';
import { stopOwnVm } from '../shared/stop-own-vm.ts';
import { isOffForHardware, offForHardware } from './hardware-facts.ts';

type HardwareStep = Step<TrueNasStepContext>;

/** When the shutdown was requested. */
const stopRequestedAt = 'hardwareStopRequestedAt';

/** TrueNAS offers nine tenths of the memory that is free. */
const offeredShare = 0.9;

/** The context in which its cards are those that it is to have. */
const withDesiredCards = (context: TrueNasStepContext): TrueNasStepContext => ({
  ...context,
  facts: { ...context.facts, ...desiredBridgesFact(context) },
});

const isPending = async (context: TrueNasStepContext): Promise<boolean> => {
  const { changes } = await compareHardware(context, {});
  return changes.some((change) => change.class === 'hardware');
};

/**
 * Before: the machine runs. After: its new cards can be attached, and the memory that it needs in addition to start again is
 * reserved. Done also when it is off: its start waits for memory itself.
 */
export const hardwareAdmitted: HardwareStep = {
  name: 'hardware-admitted',
  async run(context) {
    const system = machineScopeOf(context);
    const { own: vm } = await findVm(system);
    if (!vm || !isVmActive(vm)) return done();
    const others = (await readAllVms(system)).filter(({ id }) => id !== vm.id);
    const cards = additionalCardsOf(withDesiredCards(context), system.identity);
    const taken = failWhenMacTaken(
      system,
      others,
      cards.map(({ mac }) => mac),
    );
    if (taken) return taken;
    const additional = Math.ceil(getVmSize(context).memoryMiB - vm.memory * offeredShare);
    if (additional <= 0) return done();
    const takes = (amount: string) => `this machine takes ${amount} more to start with its new hardware`;
    return (await waitForMemory(context, additional, takes)) ?? done();
  },
};

/**
 * Before: the node is drained. After: the machine is off, unless it has its hardware already. The intent is recorded before
 * the stop: otherwise a repair would start the machine.
 */
export const offForHardwareChange: HardwareStep = {
  name: 'off-for-hardware',
  async run(context): Promise<StepOutcome> {
    const system = machineScopeOf(context);
    const { own: vm } = await findVm(system);
    if (!vm || !(await isPending(context))) return done();
    if (!isOffForHardware(context.facts))
      return wait(0, 'The machine is about to be shut down.', {
        [offForHardware]: context.clock.now().toISOString(),
        [stopRequestedAt]: '',
      });
    if (!isVmActive(vm)) return done();
    return await stopOwnVm(context, system, vm, stopRequestedAt);
  },
};

/**
 * Before: the machine is off. After: its settings and cards are those of its size, and the record of its cards follows.
 * Done when nothing differs; devices that a user added are not touched.
 */
export const hardwareChanged: HardwareStep = {
  name: 'hardware-changed',
  async run(context): Promise<StepOutcome> {
    const system = machineScopeOf(context);
    const { own: vm } = await findVm(system);
    if (!vm) return done();
    if (isVmActive(vm)) {
      const seconds = 1;
      return (await isPending(context))
        ? returnToStep(offForHardwareChange.name, seconds, 'The machine was started meanwhile.')
        : done();
    }
    const change = differingHardware(vm, getVmSize(context));
    if (Object.keys(change).length > 0)
      await system.nas.change('vm.update', [vm.id, change], z.unknown(), { signal: context.signal, seconds: 60 });
    await changeCards(withDesiredCards(context), system, vm);
    return done(desiredBridgesFact(context));
  },
};

async function changeCards(context: TrueNasStepContext, system: MachineScope, vm: Vm): Promise<void> {
  const cards = desiredDevicesOf(context, false).filter(({ attributes }) => attributes.dtype === 'NIC');
  // The first card stays where it is: another bridge is drift.
  for (const one of cards.slice(1)) {
    const device = vm.devices.find((candidate) => one.matches(candidate));
    if (!device || differingSettings(device, one).length > 0) await attachDevice(system, vm.id, one, device);
  }
  const surplus = system.identity.furtherMacs.slice(cards.length - 1);
  const keep = { zvol: false, raw_file: false, force: false };
  for (const { id, attributes } of vm.devices)
    if (attributes.dtype === 'NIC' && surplus.includes(attributes.mac?.toLowerCase() ?? ''))
      await system.nas.change('vm.device.delete', [id, keep], z.unknown(), { signal: context.signal });
}

/** Before: the machine has its hardware. After: it runs. Done when it is found running. */
export const startedWithHardware: HardwareStep = {
  name: 'started-with-hardware',
  async run(context): Promise<StepOutcome> {
    const system = machineScopeOf(context);
    const memory = memoryTableOf(context);
    // What it has used until it was switched off is free, and counts together with what was reserved in addition.
    memory.cancel(system.identity.uuid);
    memory.outdate();
    const outcome = await startVm(context, system, await getKnownVm(system));
    return outcome.kind === 'done' ? done({ ...outcome.facts, [offForHardware]: '' }) : outcome;
  },
};
