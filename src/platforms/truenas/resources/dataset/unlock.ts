import { z } from 'zod';
import type { Drift } from '../../../../engine/observation.ts';
import { type Facts, type Step, type StepOutcome, wait } from '../../../../engine/platform.ts';
import { ProviderError } from '../../../../lib/errors.ts';
import type { SecretString } from '../../../../lib/secret-string.ts';
import { type Dataset, UnlockResult } from '../../api/schema.ts';
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

/** What is said of a machine whose part is locked. */
export function lockedDrift({ id, encryption_root: root }: Dataset, system: MachineScope, facts: Facts): Drift {
  const message = `The dataset ${id} is encrypted and locked.`;
  const isOurs = facts['encrypted'] === true && rootDatasetsOf(facts, system).some((one) => one === root);
  if (!isOurs) return drift('DatasetLocked', `${message} Unlock it.`);
  return drift('DatasetLocked', message, { mend: { when: 'by-itself', how: 'it is unlocked with its key' } });
}

/** Unlocks what is locked of a machine that we have encrypted, and says whether anything was. */
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
 * A job, whose result tells what failed and never an error. Attachments are left alone: TrueNAS would start the machine before
 * its disks on other pools are unlocked.
 */
async function unlockDataset(system: MachineScope, id: string, key: SecretString): Promise<void> {
  const { nas, signal } = system;
  await nas.jobs.subscribe(signal);
  const request = { toggle_attachments: false, datasets: [{ name: id, passphrase: key.reveal() }] };
  const method = 'pool.dataset.unlock';
  const job = await nas.change(method, [id, request], z.int(), { signal, seconds: 60 });
  const { result } = await nas.jobs.wait(job, { signal, seconds: 120, method, firstArgument: id });
  nas.shared.forget();
  const still = await findDataset(system, id);
  if (!still?.locked) return;
  const why = UnlockResult.safeParse(result).data?.failed[id]?.error ?? 'no reason given';
  throw new ProviderError('TRUENAS_DATASET_LOCKED', `It is ${id} on ${nas.host}, with our key: ${why}.`);
}

/**
 * A system that was restarted has locked what it has no passphrase of, wherever a walk stood. Nothing is looked at for that as long
 * as all goes well.
 */
export function unlockWhenLocked(step: Step<TrueNasStepContext>): Step<TrueNasStepContext> {
  const run = async (context: TrueNasStepContext): Promise<StepOutcome> => {
    try {
      return await step.run(context);
    } catch (error) {
      if (!mayBeLocked(error) || !(await unlockOwnDatasets(context))) throw error;
      return wait(
        1,
        'The datasets of the machine were locked, as after a restart of the system, and are unlocked again.',
      );
    }
  };
  return { ...step, run };
}

/** What TrueNAS says, among other things, of what lies in something that is locked. */
const mayBeLocked = (error: unknown): error is ProviderError =>
  hasCode(
    ...([error, 'TRUENAS_DATASET_LOCKED', 'TRUENAS_NOT_FOUND', 'TRUENAS_REFUSED'] as const),
    ...(['TRUENAS_CALL_FAILED', 'TRUENAS_UPLOAD_FAILED'] as const),
  );
