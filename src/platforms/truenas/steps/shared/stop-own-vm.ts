import { z } from 'zod';
import { done, type StepOutcome, wait } from '../../../../engine/step.ts';
import type { Vm } from '../../api/schema.ts';
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
  { nas, cache }: MachineScope,
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
    if (cache) cache.stop = { job, observeAt: lookAt };
    return wait(2, shuttingDownMessage, { [note]: context.clock.now().toISOString() });
  }
  // A clock that was set back must not extend the time.
  if (graceful && asked !== undefined && now >= asked && now - asked < graceSeconds * 1000) {
    if (cache?.stop) cache.stop = { ...cache.stop, observeAt: lookAt };
    return wait(2, shuttingDownMessage);
  }
  // The result of that stop does not matter any more.
  if (cache) cache.stop = undefined;
  await nas.change('vm.poweroff', [vm.id], z.unknown(), options);
  return wait(1, 'The machine was switched off.');
}

const shuttingDownMessage = 'The machine is shutting down.';

/**
 * The state of a requested shutdown, without a call: a stop job that succeeded proves that the machine is off.
 * Undefined when the state has to be read.
 */
export function checkPendingStop(
  { clock }: TrueNasRemovalContext,
  { nas, cache }: MachineScope,
): StepOutcome | undefined {
  const stop = cache?.stop;
  const vm = cache?.takeVm()?.found;
  if (!stop || !vm) return undefined;
  const end = nas.jobs.endOf(stop.job);
  if (!end && clock.monotonic() < stop.observeAt) {
    cache.returnVm(vm);
    return wait(2, shuttingDownMessage);
  }
  // Job ids restart with the middleware.
  if (end?.method !== 'vm.stop' || end.arguments?.[0] !== vm.id || end.state !== 'SUCCESS') return undefined;
  cache.returnVm({ ...vm, status: { state: 'STOPPED' } });
  return done();
}
