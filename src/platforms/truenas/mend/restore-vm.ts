import { done, fail, type Step } from '../../../engine/platform.ts';
import { vmCreated } from '../provision/make-machine.ts';
import { findOwnDataset, findVm, systemOf } from '../system.ts';
import type { MendingContext } from './context.ts';

/**
 * Before: people agreed to it that a machine that is gone is made anew around its disk. After: there is a VM with our mark, without
 * devices. Done when one is found.
 */
export const vmRestored: Step<MendingContext> = {
  name: 'vm-restored',
  async run(context) {
    const system = systemOf(context);
    if (!context.reasons.includes('VmGone') || (await findVm(system)).own) return done();
    const { zvol } = system.identity;
    if (!(await findOwnDataset(system, zvol)))
      return fail('DiskGone', `The disk ${zvol} is gone as well. Delete the Machine to have it made anew.`);
    return await vmCreated.run(context);
  },
};
