import { z } from 'zod';
import type { Drift } from '../../../../engine/observation.ts';
import { type Facts, type Step, type StepOutcome, wait } from '../../../../engine/step.ts';
import type { ProviderError } from '../../../../lib/errors.ts';
import type { SecretString } from '../../../../lib/secret-string.ts';
import { type Dataset, UnlockResult } from '../../api/schema.ts';
import { SystemInformer } from '../../cache/system-informer.ts';
import { TrueNasError } from '../../error-codes.ts';
import { hasCode } from '../../errors.ts';
import { drift } from '../../observation/drift.ts';
import { isOwnDataset } from '../identity.ts';
import {
  findDataset,
  type MachineScope,
  machineScopeOf,
  notOwnedError,
  type TrueNasStepContext,
} from '../machine-scope.ts';
import { rootDatasetsOf } from './encryption.ts';

/** The drift of a machine with a locked dataset. */
export function lockedDrift({ id, encryption_root: root }: Dataset, system: MachineScope, facts: Facts): Drift {
  const message = `The dataset ${id} is encrypted and locked.`;
  const isOurs = facts['encrypted'] === true && rootDatasetsOf(facts, system).some((one) => one === root);
  if (!isOurs) return drift('DatasetLocked', `${message} Unlock it.`);
  return drift('DatasetLocked', message, { repair: { mode: 'automatic', effect: 'it is unlocked with its key' } });
}

/** Unlocks the locked datasets that we encrypted. True when any was locked. */
export async function unlockOwnDatasets(context: TrueNasStepContext): Promise<boolean> {
  if (context.facts['encrypted'] !== true) return false;
  const system = machineScopeOf(context);
  let unlocked = false;
  for (const id of rootDatasetsOf(context.facts, system)) {
    const found = await findDataset(system, id);
    if (!found?.locked) continue;
    if (!isOwnDataset(found, system.owner)) throw notOwnedError(`It is the dataset ${id}`);
    await unlockDataset(system, id, await context.diskKey.read());
    unlocked = true;
  }
  return unlocked;
}

/**
 * Runs a job, whose result names failures instead of an error. Attachments are not started: TrueNAS would start the
 * machine before its disks on other pools are unlocked.
 */
async function unlockDataset(system: MachineScope, id: string, key: SecretString): Promise<void> {
  const { nas, signal } = system;
  await nas.jobs.subscribe(signal);
  const request = { toggle_attachments: false, datasets: [{ name: id, passphrase: key.reveal() }] };
  const method = 'pool.dataset.unlock';
  const job = await nas.change(method, [id, request], z.int(), { signal, seconds: 60 });
  const { result } = await nas.jobs.wait(job, { signal, seconds: 120, method, firstArgument: id });
  // The call itself only began the job.
  SystemInformer.of(nas).outdateAll();
  const still = await findDataset(system, id);
  if (!still?.locked) return;
  const why = UnlockResult.safeParse(result).data?.failed[id]?.error ?? 'no reason given';
  throw new TrueNasError(
    'TRUENAS_DATASET_LOCKED',
    `Unlocking ${id} on ${nas.host} with the key of the machine failed: ${why}.`,
  );
}

/**
 * A restart of the system locks datasets with a passphrase, at any step of a walk. This is checked only after an error.
 */
export function unlockWhenLocked(step: Step<TrueNasStepContext>): Step<TrueNasStepContext> {
  const run = async (context: TrueNasStepContext): Promise<StepOutcome> => {
    try {
      return await step.run(context);
    } catch (error) {
      if (!mayBeLocked(error) || !(await unlockOwnDatasets(context))) throw error;
      return wait(1, 'The datasets of the machine were locked, e.g. by a restart of the system, and were unlocked.');
    }
  };
  return { ...step, run };
}

/** Error codes that TrueNAS uses, among others, for objects in a locked dataset. */
const mayBeLocked = (error: unknown): error is ProviderError =>
  hasCode(
    ...([error, 'TRUENAS_DATASET_LOCKED', 'TRUENAS_NOT_FOUND', 'TRUENAS_REFUSED'] as const),
    ...(['TRUENAS_CALL_FAILED', 'TRUENAS_UPLOAD_FAILED'] as const),
  );
