import { done, type Step, wait } from '../../../../engine/step.ts';
import { findVm, isVmActive, machineScopeOf } from '../../resources/machine-scope.ts';
import { clearApprovedStopFact, isApprovedStop, toApprovedStopFact } from '../../resources/vm/approved-stop.ts';
import { stopOwnVm } from '../shared/stop-own-vm.ts';
import { requiresPowerOff, type TrueNasRepairContext } from './repair-context.ts';

/**
 * Before: anything. After: our VM does not run, if that was approved, or its node is to be restarted: no other step of a
 * repair stops a machine. Done when it is off. The start is recorded before the stop, so that it happens even when the
 * approval is withdrawn.
 */
export const haltedForRepair: Step<TrueNasRepairContext> = {
  name: 'halted-for-repair',
  formerNames: ['halted-for-mend'],
  async run(context) {
    const system = machineScopeOf(context);
    const { own: vm } = await findVm(system);
    const agreed = vm && isVmActive(vm) && requiresPowerOff(context, vm, system);
    // The next stop is requested anew.
    if (!agreed)
      return done({ haltRequestedAt: '', ...(vm && isVmActive(vm) ? clearApprovedStopFact(context.facts) : {}) });
    if (isApprovedStop(context.facts, context.clock)) return await stopOwnVm(context, system, vm, 'haltRequestedAt');
    const why = context.restart ? 'because its node is unhealthy' : 'as approved';
    return wait(1, `The machine is about to be shut down, ${why}.`, toApprovedStopFact(context.clock));
  },
};
