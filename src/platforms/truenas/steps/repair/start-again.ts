import { z } from 'zod';
import { toRestartedFact } from '../../../../engine/capabilities/repair.ts';
import { done, type Facts, fail, type Step, type StepOutcome, wait } from '../../../../engine/step.ts';
import type { Vm } from '../../api/schema.ts';
import {
  findVm,
  isVmActive,
  type MachineScope,
  machineScopeOf,
  type TrueNasStepContext,
} from '../../resources/machine-scope.ts';
import { clearApprovedStopFact } from '../../resources/vm/approved-stop.ts';
import { firstBootPath } from '../../resources/vm/desired-vm.ts';
import { poweredOn } from '../provision/power-on.ts';
import { coveredReasons, type TrueNasRepairContext } from './repair-context.ts';

/**
 * Before: the VM has its desired state. After: it runs. Done when it is found running, or has to stay off. A system
 * that shuts down stops its machines by itself, so none is started then.
 */
export const runningAgain: Step<TrueNasRepairContext> = {
  name: 'running-again',
  async run(context) {
    const system = machineScopeOf(context);
    const { own: vm } = await findVm(system);
    if (!vm) return done();
    const due = coveredReasons(context, vm, system);
    const isToStart = context.reasons.includes('VmGone') || context.restart !== undefined;
    const isOff = isToStart && vm.status.state === 'STOPPED';
    // A call whose answer was lost may have started it.
    if (!isOff && !due.includes('PoweredOff') && !due.includes('Suspended'))
      return done(isVmActive(vm) ? startedFacts(context) : {});
    const outcome = await startVm(context, system, vm);
    return outcome.kind === 'done' ? done({ ...outcome.facts, ...startedFacts(context) }) : outcome;
  },
};

const startedFacts = ({ facts, restart }: TrueNasRepairContext): Facts => ({
  ...clearApprovedStopFact(facts),
  ...(restart && toRestartedFact(restart)),
});

/** Starts an existing machine, which boots from its disk. */
export async function startVm(context: TrueNasStepContext, system: MachineScope, vm: Vm): Promise<StepOutcome> {
  const disk = `/dev/zvol/${system.identity.zvol}`;
  const first = firstBootPath(vm.devices);
  if (first !== disk) {
    const message = `${vm.name} would boot from ${first ?? 'nothing'} before its disk ${disk}, so it is not started.`;
    return fail('BootOrder', `${message} Set the order of that device above 1501.`);
  }
  const state = await system.nas.read('system.state', [], z.string(), { signal: context.signal });
  if (state !== 'READY') return wait(15, `${system.nas.host} reports the state ${state}, which is waited for.`);
  return await poweredOn.run(context);
}
