import { done, type Step, wait } from '../../../engine/platform.ts';
import { isAgreedStop, noAgreedStop, noteAgreedStop } from '../agreed-stop.ts';
import { findVm, isActive, systemOf } from '../system.ts';
import { turnOff } from '../turn-off.ts';
import { type MendingContext, wantsItOff } from './context.ts';

/**
 * Before: anything. After: our VM does not run, if that is what people agreed to: nothing else here ever stops a machine. Done when it
 * is off. That it is to be started again is written down before it is asked to stop, so that it is, whatever becomes of the agreement.
 */
export const haltedForMend: Step<MendingContext> = {
  name: 'halted-for-mend',
  async run(context) {
    const system = systemOf(context);
    const { own: vm } = await findVm(system);
    const agreed = vm && isActive(vm) && wantsItOff(context, vm, system);
    // The next time it is asked anew.
    if (!agreed) return done({ haltAskedAt: '', ...(vm && isActive(vm) ? noAgreedStop(context.facts) : {}) });
    if (isAgreedStop(context.facts, context.clock)) return await turnOff(context, system, vm, 'haltAskedAt');
    return wait(1, 'The machine is going to be shut down, as agreed.', noteAgreedStop(context.clock));
  },
};
