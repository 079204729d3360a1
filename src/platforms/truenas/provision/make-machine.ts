import { done, type Step } from '../../../engine/platform.ts';
import { cardsOf } from '../cards.ts';
import { describeVm } from '../machine.ts';
import { Vm } from '../schema.ts';
import { allVms, type Context, foreign, pickVm, sizeOf, systemOf } from '../system.ts';
import { failWhenTaken } from './mac-clash.ts';
import { waitForMemory } from './reserve-resources.ts';

/**
 * Before: names. After: a VM with our mark, without devices: TrueNAS takes those one by one. Done when a VM with our UUID is
 * found. One of our name that is not ours stops here.
 */
export const vmCreated: Step<Context> = {
  name: 'vm-created',
  async run(context) {
    const system = systemOf(context);
    const vms = await allVms(system);
    const found = pickVm(system, vms);
    system.handover?.noteVm(found.own);
    if (found.own) return done({ vmId: found.own.id });
    if (found.foreign) throw foreign(`It is the virtual machine ${found.foreign.name}`);
    const short = await waitForMemory(context, sizeOf(context).memoryMiB);
    if (short) return short;
    const { identity } = system;
    const taken = failWhenTaken(system, vms, [identity.mac, ...cardsOf(context, identity).map(({ mac }) => mac)]);
    if (taken) return taken;
    const request = describeVm(identity, context.owner, context.node, sizeOf(context));
    const made = await system.nas.change('vm.create', [request], Vm, { signal: context.signal, seconds: 60 });
    system.handover?.noteVm(made);
    return done({ vmId: made.id });
  },
};
