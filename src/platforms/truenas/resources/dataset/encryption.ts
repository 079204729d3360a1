import { z } from 'zod';
import { done, type Facts, fail, type StepOutcome } from '../../../../engine/platform.ts';
import type { SecretString } from '../../../../lib/secret-string.ts';
import { Pool } from '../../api/schema.ts';
import { systemEndpointOf } from '../../config/config.ts';
import { isEncrypted } from '../../config/encrypted.ts';
import { filesystemsOnOtherPools, recordedDisks } from '../disk/data-disks.ts';
import { ensureDataset, findOwnDataset, type MachineScope, type TrueNasStepContext } from '../machine-scope.ts';
import { toDatasetRefs } from './dataset-ref.ts';

/** The filesystems that hold all of a machine, one for each pool. Of an encrypted one each has the passphrase for itself. */
export const rootDatasetsOf = (facts: Facts, { identity }: Pick<MachineScope, 'identity'>): readonly string[] => [
  identity.dataset,
  ...filesystemsOnOtherPools(recordedDisks(facts), identity.dataset),
];

/**
 * Makes one of them, or finds it made. What is made below takes its encryption from it.
 * One that is not encrypted, or not by itself, is left as it is: nothing can encrypt it any more.
 */
export async function ensureRootDataset(
  context: TrueNasStepContext,
  system: MachineScope,
  id: string,
): Promise<StepOutcome> {
  const folder = { type: 'FILESYSTEM', create_ancestors: true };
  if (!isEncrypted(context)) {
    const { encryption_root: root } = await ensureDataset(system, id, folder);
    // Left by a Machine of this name that was deleted by force: it is what it is, whatever sizes say by now.
    return done(root === id && context.diskKey.isKept() ? { encrypted: true } : undefined);
  }
  const found = await findOwnDataset(system, id);
  if (found && found.encryption_root !== id) return notEncryptedFailure(id);
  const key = await diskKeyFor(context, system);
  const made = await ensureDataset(system, id, { ...folder, ...encryptionOptions(key) });
  return made.encryption_root === id ? done() : notEncryptedFailure(id);
}

const notEncryptedFailure = (id: string): StepOutcome =>
  fail(
    'NotEncrypted',
    `The dataset ${id} is there and is not encrypted with a key of its own. Delete the Machine to have it made anew.`,
  );

/** Drawn only while nothing is there that another one would have to open. */
async function diskKeyFor(context: TrueNasStepContext, system: MachineScope): Promise<SecretString> {
  const roots = rootDatasetsOf(context.facts, system);
  for (const id of roots) {
    if (await findOwnDataset(system, id)) return await context.diskKey.read();
  }
  const { nas, signal } = system;
  const pools = await nas.read('pool.query', [], z.array(Pool), { signal });
  return await context.diskKey.ensure({
    system: systemEndpointOf(context.config).host,
    roots: toDatasetRefs(pools, roots),
  });
}

/**
 * As `pool.dataset.create` is told: algorithms in capitals, and not to inherit. A passphrase, not a key: keys TrueNAS keeps in its
 * own database, and opens with them for whoever has the system. Anything may lie below a passphrase but a key.
 */
const encryptionOptions = (key: SecretString): object => ({
  ...{ encryption: true, inherit_encryption: false },
  encryption_options: { algorithm: 'AES-256-GCM', passphrase: key.reveal() },
});
