import { z } from 'zod';
import { returnToStep, type Step, type StepOutcome, waitWithReason } from '../../../../engine/step.ts';
import { hasCode } from '../../errors.ts';
import { unlockOwnDatasets } from '../../resources/dataset/unlock.ts';
import { findVm, machineScopeOf, type TrueNasStepContext } from '../../resources/machine-scope.ts';
import { cancelReservationsWhenStuck } from '../provision/reserve-resources.ts';
import { assertOwned } from '../shared/assert-owned.ts';
import { goBackToMissing } from '../shared/go-back.ts';
import { oldSeedEmptied } from './empty-old-seed.ts';
import { disksGrown, guestDiskSizesRecorded } from './grow-disks.ts';
import { haltedForRepair } from './halt-vm.ts';
import type { TrueNasRepairContext } from './repair-context.ts';
import { cdromsUsable, devicesRestored } from './restore-devices.ts';
import { settingsRestored } from './restore-settings.ts';
import { vmRestored } from './restore-vm.ts';
import { runningAgain } from './start-again.ts';
import { datasetsUnlocked } from './unlock-datasets.ts';

/** Repairs a machine until it runs in its desired state. */
export const repair: readonly Step<TrueNasRepairContext>[] = [
  datasetsUnlocked,
  haltedForRepair,
  vmRestored,
  devicesRestored,
  cdromsUsable,
  settingsRestored,
  guestDiskSizesRecorded,
  disksGrown,
  runningAgain,
  oldSeedEmptied,
].map((step) => cancelReservationsWhenStuck(assertOwned({ deadlineMinutes: 10, ...step })));

/**
 * For a machine that was started and has not joined yet: missing parts are created again, and a machine that is off is
 * started.
 */
export async function recover(context: TrueNasStepContext): Promise<StepOutcome | undefined> {
  const system = machineScopeOf(context);
  const { own: seen } = await findVm(system, {});
  if (seen && seen.status.state !== 'STOPPED') return undefined;
  const locked = await unlockOrWait(context);
  if (locked) return locked;
  const gone = await goBackToMissing(context);
  if (gone) return gone;
  const { own } = await findVm(system);
  if (own?.status.state !== 'STOPPED') return undefined;
  return returnToStep(
    'powered-on',
    1,
    'The virtual machine was powered off before the node joined; it is started again.',
  );
}

/** Like the power switch: Talos without a configuration ignores the power button. */
export async function cutPower(context: TrueNasStepContext): Promise<StepOutcome | undefined> {
  const system = machineScopeOf(context);
  const { own } = await findVm(system);
  if (own?.status.state !== 'RUNNING') return undefined;
  await system.nas.change('vm.poweroff', [own.id], z.unknown(), { signal: context.signal, seconds: 60 });
  return returnToStep(
    'powered-on',
    1,
    'The virtual machine was powered off because its node did not answer; it is started again.',
  );
}

/** Unlocks locked datasets. While this fails, the node cannot start, so the reason is reported instead. */
async function unlockOrWait(context: TrueNasStepContext): Promise<StepOutcome | undefined> {
  try {
    await unlockOwnDatasets(context);
    return undefined;
  } catch (error) {
    if (!hasCode(error, 'DISK_KEY_MISSING', 'TRUENAS_DATASET_LOCKED')) throw error;
    return waitWithReason(error.code, 30, error.message);
  }
}
