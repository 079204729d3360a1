import { done, type Step } from '../../../engine/platform.ts';
import { findVm, isActive, systemOf } from '../system.ts';
import { turnOff } from '../turn-off.ts';
import { type MendingContext, wantsItOff } from './context.ts';

/**
 * Before: anything. After: our VM does not run, if that is what people agreed to: nothing else here ever stops a machine. Done when it
 * is off.
 */
export const haltedForMend: Step<MendingContext> = {
  name: 'halted-for-mend',
  async run(context) {
    const system = systemOf(context);
    const { own: vm } = await findVm(system);
    const agreed = vm && isActive(vm) && wantsItOff(context, vm, system);
    // The next time it is asked anew.
    return agreed ? await turnOff(context, system, vm, 'haltAskedAt') : done({ haltAskedAt: '' });
  },
};
