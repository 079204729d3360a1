import { done, type Step } from '../../../../engine/step.ts';
import { Vm } from '../../api/schema.ts';
import { additionalCardsOf } from '../../config/cards.ts';
import {
  getVmSize,
  machineScopeOf,
  notOwnedError,
  pickVm,
  readAllVms,
  type TrueNasStepContext,
} from '../../resources/machine-scope.ts';
import { toVmCreateRequest } from '../../resources/vm/desired-vm.ts';
import { failWhenMacTaken } from './fail-when-mac-taken.ts';
import { waitForMemory } from './reserve-resources.ts';

/**
 * Before: names are recorded. After: a VM with our mark exists, without devices, because TrueNAS creates those one by
 * one. Done when a VM with our UUID is found. A foreign VM with our name fails the step.
 */
export const vmCreated: Step<TrueNasStepContext> = {
  name: 'vm-created',
  async run(context) {
    const system = machineScopeOf(context);
    const vms = await readAllVms(system);
    const found = pickVm(system, vms);
    if (found.own) return done({ vmId: found.own.id });
    if (found.foreign) throw notOwnedError(`It is the virtual machine ${found.foreign.name}`);
    const short = await waitForMemory(context, getVmSize(context).memoryMiB);
    if (short) return short;
    const { identity } = system;
    const taken = failWhenMacTaken(system, vms, [
      identity.mac,
      ...additionalCardsOf(context, identity).map(({ mac }) => mac),
    ]);
    if (taken) return taken;
    const request = toVmCreateRequest(identity, context.owner, context.node, getVmSize(context));
    const made = await system.nas.change('vm.create', [request], Vm, { signal: context.signal, seconds: 60 });
    return done({ vmId: made.id });
  },
};
