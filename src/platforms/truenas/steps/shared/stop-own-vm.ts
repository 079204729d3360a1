import { z } from 'zod';
import { done, type StepOutcome, wait } from '../../../../engine/step.ts';
import type { Vm } from '../../api/schema.ts';
import { SystemInformer } from '../../cache/system-informer.ts';
import type { MachineScope, TrueNasRemovalContext } from '../../resources/machine-scope.ts';

/** Time that the guest has to shut down. */
const graceSeconds = 60;
/** Poll interval meanwhile, if no event reports the end of the stop. */
const pollSeconds = 15;
/** Without `force_after_timeout`, a stop succeeds even when the guest has ignored the power button. */
const stopOptions = { force: false, force_after_timeout: true };

/**
 * Shuts a member of a cluster down, and switches it off after a minute. A machine that is no member is switched off at
 * once: Talos ignores the power button before its installation. `note` is the fact with the time of the request.
 */
export async function stopOwnVm(
  context: TrueNasRemovalContext,
  { nas }: MachineScope,
  vm: Vm,
  note: string,
): Promise<StepOutcome> {
  const options = { signal: context.signal, seconds: 60 };
  const noted = context.facts[note];
  const requestedAt = typeof noted === 'string' && noted !== '' ? Date.parse(noted) : undefined;
  const now = context.clock.now().getTime();
  const graceful = context.facts['joined'] === true && vm.status.state === 'RUNNING';
  const observeAt = context.clock.monotonic() + pollSeconds * 1000;
  const { vms } = SystemInformer.of(nas);
  if (graceful && requestedAt === undefined) {
    await nas.jobs.subscribe(context.signal);
    const job = await nas.change('vm.stop', [vm.id, stopOptions], z.int(), options);
    vms.rememberStop(vm, job, observeAt);
    return wait(2, shuttingDownMessage, { [note]: context.clock.now().toISOString() });
  }
  // A clock that was set back must not extend the time.
  if (graceful && requestedAt !== undefined && now >= requestedAt && now - requestedAt < graceSeconds * 1000) {
    vms.delayStop(vm, observeAt);
    return wait(2, shuttingDownMessage);
  }
  // The result of that stop does not matter any more.
  vms.forgetStop(vm);
  await nas.change('vm.poweroff', [vm.id], z.unknown(), options);
  return wait(1, 'The machine was powered off.');
}

const shuttingDownMessage = 'The machine is shutting down.';

/**
 * The state of the shutdown that was requested at the time in the fact `note`, without a call: a stop job that succeeded
 * proves that the machine is off. Undefined when the state has to be read.
 */
export function checkPendingStop(
  { clock, facts }: TrueNasRemovalContext,
  { nas, identity }: MachineScope,
  note: string,
): StepOutcome | undefined {
  // A stop that was requested for another reason, e.g. by a repair, proves nothing here.
  if (typeof facts[note] !== 'string' || facts[note] === '') return undefined;
  const { vms } = SystemInformer.of(nas);
  const stop = vms.pendingStop(identity.uuid);
  if (!stop) return undefined;
  const end = nas.jobs.endOf(stop.job);
  if (!end && clock.monotonic() < stop.observeAt) return wait(2, shuttingDownMessage);
  // Job ids restart with the middleware.
  if (end?.method !== 'vm.stop' || end.arguments?.[0] !== stop.vm.id || end.state !== 'SUCCESS') return undefined;
  vms.noteStopped(stop);
  return done();
}
