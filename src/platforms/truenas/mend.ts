import { z } from 'zod';
import { back, type Outcome, type Step, waitFor } from '../../engine/platform.ts';
import { keptSeconds } from './client.ts';
import { hasCode } from './errors.ts';
import { lookAtVms } from './looks.ts';
import type { MendingContext } from './mend/context.ts';
import { oldSeedEmptied } from './mend/empty-seed.ts';
import { disksGrown, guestViewNoted } from './mend/grow-disks.ts';
import { haltedForMend } from './mend/halt.ts';
import { devicesRestored, discsUsable } from './mend/restore-devices.ts';
import { settingsRestored } from './mend/restore-settings.ts';
import { vmRestored } from './mend/restore-vm.ts';
import { runningAgain } from './mend/start-again.ts';
import { datasetsUnlocked } from './mend/unlock-datasets.ts';
import { goBackToWhatIsGone } from './provision/go-back.ts';
import { letGoWhenStuck } from './provision/reserve-resources.ts';
import { sayWhenForeign } from './provision/say-when-foreign.ts';
import { type Context, findVm, pickVm, systemOf } from './system.ts';
import { unlockOwn } from './unlock.ts';

/** From a machine that something is amiss with to one that runs as it was made. */
export const mend: readonly Step<MendingContext>[] = [
  datasetsUnlocked,
  haltedForMend,
  vmRestored,
  devicesRestored,
  discsUsable,
  settingsRestored,
  guestViewNoted,
  disksGrown,
  runningAgain,
  oldSeedEmptied,
].map((step) => letGoWhenStuck(sayWhenForeign({ deadlineMinutes: 10, ...step })));

/** Of a machine that was started and has not joined yet, what is gone is made anew, and it is started again when it is off. */
export async function recover(context: Context): Promise<Outcome | undefined> {
  const system = systemOf(context);
  const seen = pickVm(system, await lookAtVms(context, keptSeconds)).own;
  if (seen && seen.status.state !== 'STOPPED') return undefined;
  const locked = await keptLocked(context);
  if (locked) return locked;
  const gone = await goBackToWhatIsGone(context);
  if (gone) return gone;
  const { own } = await findVm(system);
  if (own?.status.state !== 'STOPPED') return undefined;
  return back('powered-on', 1, 'The virtual machine was switched off before it had joined; it is started again.');
}

/** As the power switch does: Talos that has no configuration ignores the button. */
export async function cutPower(context: Context): Promise<Outcome | undefined> {
  const system = systemOf(context);
  const { own } = await findVm(system);
  if (own?.status.state !== 'RUNNING') return undefined;
  await system.nas.change('vm.poweroff', [own.id], z.unknown(), { signal: context.signal, seconds: 60 });
  return back(
    'powered-on',
    1,
    'The virtual machine was switched off, since its node did not answer; it is started again.',
  );
}

/** Unlocks what is locked. One that cannot be is no reason to wait for the node: it will not come up. */
async function keptLocked(context: Context): Promise<Outcome | undefined> {
  try {
    await unlockOwn(context);
    return undefined;
  } catch (error) {
    if (!hasCode(error, 'DISK_KEY_MISSING', 'TRUENAS_DATASET_LOCKED')) throw error;
    return waitFor(error.code, 30, error.message);
  }
}
