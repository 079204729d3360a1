import { done, fail, type Step } from '../../../../engine/step.ts';
import { findOwnDataset, findVm, machineScopeOf } from '../../resources/machine-scope.ts';
import { vmCreated } from '../provision/create-vm.ts';
import type { TrueNasRepairContext } from './repair-context.ts';

/**
 * Before: it was approved that a missing VM is created again around its disk. After: there is a VM with our mark,
 * without devices. Done when it is found.
 */
export const vmRestored: Step<TrueNasRepairContext> = {
  name: 'vm-restored',
  async run(context) {
    const system = machineScopeOf(context);
    if (!context.reasons.includes('VmGone') || (await findVm(system)).own) return done();
    const { zvol } = system.identity;
    if (!(await findOwnDataset(system, zvol)))
      return fail('DiskGone', `The disk ${zvol} no longer exists either. Delete the Machine to recreate it.`);
    return await vmCreated.run(context);
  },
};
