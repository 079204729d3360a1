import { z } from 'zod';
import { done, type StepOutcome, wait } from '../../../../engine/platform.ts';
import type { Vm } from '../../api/schema.ts';
import type { MachineScope, TrueNasRemovalContext } from '../../resources/machine-scope.ts';

/** So long the guest may take to shut down by itself. */
const graceSeconds = 60;
/** So often it is looked at meanwhile, if the system does not tell that the stop has ended. */
const pollSeconds = 15;
/** Without the second, a stop ends well also when the guest has ignored the button. */
const stopOptions = { force: false, force_after_timeout: true };

/**
 * Asks a machine that runs to shut down when it is a member of a cluster, and switches it off when it did not within a minute, or is
 * none: Talos before its installation ignores the button. `note` is the fact that keeps when it was asked.
 */
export async function stopOwnVm(
  context: TrueNasRemovalContext,
  { nas, handover }: MachineScope,
  vm: Vm,
  note: string,
): Promise<StepOutcome> {
  const options = { signal: context.signal, seconds: 60 };
  const noted = context.facts[note];
  const asked = typeof noted === 'string' && noted !== '' ? Date.parse(noted) : undefined;
  const now = context.clock.now().getTime();
  const graceful = context.facts['joined'] === true && vm.status.state === 'RUNNING';
  const lookAt = context.clock.monotonic() + pollSeconds * 1000;
  if (graceful && asked === undefined) {
    await nas.jobs.subscribe(context.signal);
    const job = await nas.change('vm.stop', [vm.id, stopOptions], z.int(), options);
    if (handover) handover.stop = { job, lookAt };
    return wait(2, shuttingDownMessage, { [note]: context.clock.now().toISOString() });
  }
  // A clock that was set back must not stretch this.
  if (graceful && asked !== undefined && now >= asked && now - asked < graceSeconds * 1000) {
    if (handover?.stop) handover.stop = { ...handover.stop, lookAt };
    return wait(2, shuttingDownMessage);
  }
  // What becomes of that stop says nothing any more.
  if (handover) handover.stop = undefined;
  await nas.change('vm.poweroff', [vm.id], z.unknown(), options);
  return wait(1, 'The machine was switched off.');
}

const shuttingDownMessage = 'The machine is shutting down.';

/**
 * What is known of a machine that was asked to shut down a moment ago, without a look: that its stop has ended well proves that it is
 * off. Undefined when it has to be looked at.
 */
export function checkPendingStop(
  { clock }: TrueNasRemovalContext,
  { nas, handover }: MachineScope,
): StepOutcome | undefined {
  const stop = handover?.stop;
  const vm = handover?.takeVm()?.found;
  if (!stop || !vm) return undefined;
  const end = nas.jobs.endOf(stop.job);
  if (!end && clock.monotonic() < stop.lookAt) {
    handover.giveVmBack(vm);
    return wait(2, shuttingDownMessage);
  }
  // Numbers of jobs begin again when the middleware restarts.
  if (end?.method !== 'vm.stop' || end.arguments?.[0] !== vm.id || end.state !== 'SUCCESS') return undefined;
  handover.giveVmBack({ ...vm, status: { state: 'STOPPED' } });
  return done();
}
