import { z } from 'zod';
import { type Outcome, wait } from '../../engine/platform.ts';
import type { Vm } from './schema.ts';
import type { Removal, System } from './system.ts';

/** So long the guest may take to shut down by itself. */
const graceSeconds = 60;

/**
 * Asks a machine that runs to shut down when it is a member of a cluster, and switches it off when it did not within a minute, or is
 * none: Talos before its installation ignores the button. `note` is the fact that keeps when it was asked.
 */
export async function turnOff(context: Removal, { nas }: System, vm: Vm, note: string): Promise<Outcome> {
  const options = { signal: context.signal, seconds: 60 };
  const noted = context.facts[note];
  const asked = typeof noted === 'string' && noted !== '' ? Date.parse(noted) : undefined;
  const now = context.clock.now().getTime();
  const graceful = context.facts['joined'] === true && vm.status.state === 'RUNNING';
  if (graceful && asked === undefined) {
    const gentle = { force: false, force_after_timeout: false };
    await nas.change('vm.stop', [vm.id, gentle], z.unknown(), options);
    return wait(2, 'The machine is shutting down.', { [note]: context.clock.now().toISOString() });
  }
  // A clock that was set back must not stretch this.
  if (graceful && asked !== undefined && now >= asked && now - asked < graceSeconds * 1000) {
    return wait(2, 'The machine is shutting down.');
  }
  await nas.change('vm.poweroff', [vm.id], z.unknown(), options);
  return wait(1, 'The machine was switched off.');
}
