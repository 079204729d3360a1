import { z } from 'zod';
import { done, type Facts, fail, type StepOutcome } from '../../../../engine/step.ts';
import type { SecretString } from '../../../../lib/secret-string.ts';
import { Pool } from '../../api/schema.ts';
import { systemEndpointOf } from '../../config/config.ts';
import { isEncrypted } from '../../config/encrypted.ts';
import { filesystemsOnOtherPools, recordedDisks } from '../disk/data-disks.ts';
import { ensureDataset, findKnownDataset, type MachineScope, type TrueNasStepContext } from '../machine-scope.ts';
import { toDatasetRefs } from './dataset-ref.ts';

/** The filesystems of a machine, one for each pool. When encrypted, each has the passphrase for itself. */
export const rootDatasetsOf = (facts: Facts, { identity }: Pick<MachineScope, 'identity'>): readonly string[] => [
  identity.dataset,
  ...filesystemsOnOtherPools(recordedDisks(facts), identity.dataset),
];

/**
 * Creates one of these filesystems, or finds it. Datasets below inherit its encryption. An existing one without
 * encryption of its own stays as it is, because it cannot be encrypted later.
 */
export async function ensureRootDataset(
  context: TrueNasStepContext,
  system: MachineScope,
  id: string,
): Promise<StepOutcome> {
  const folder = { type: 'FILESYSTEM', create_ancestors: true };
  if (!isEncrypted(context)) {
    const { encryption_root: root } = await ensureDataset(system, id, folder);
    // A Machine of the same name that was deleted by force has left it encrypted, whatever the size says now.
    return done(root === id && context.diskKey.isKept() ? { encrypted: true } : undefined);
  }
  const found = await findKnownDataset(system, id);
  if (found && found.encryption_root !== id) return notEncryptedFailure(id);
  const key = await diskKeyFor(context, system);
  const made = await ensureDataset(system, id, { ...folder, ...encryptionOptions(key) });
  return made.encryption_root === id ? done() : notEncryptedFailure(id);
}

const notEncryptedFailure = (id: string): StepOutcome =>
  fail(
    'NotEncrypted',
    `The dataset ${id} exists and is not encrypted with its own key. Delete the Machine to recreate it.`,
  );

/** A new passphrase is generated only when no filesystem exists that needs the former one. */
async function diskKeyFor(context: TrueNasStepContext, system: MachineScope): Promise<SecretString> {
  const roots = rootDatasetsOf(context.facts, system);
  for (const id of roots) {
    if (await findKnownDataset(system, id)) return await context.diskKey.read();
  }
  const { nas, signal } = system;
  const pools = await nas.read('pool.query', [], z.array(Pool), { signal });
  return await context.diskKey.ensure({
    system: systemEndpointOf(context.config).host,
    roots: toDatasetRefs(pools, roots),
  });
}

/**
 * Options of `pool.dataset.create`. A passphrase, not a key: TrueNAS stores keys in its own database and unlocks with
 * them at boot, so they do not protect a stolen system. Datasets below a passphrase may not use a key.
 */
const encryptionOptions = (key: SecretString): object => ({
  ...{ encryption: true, inherit_encryption: false },
  encryption_options: { algorithm: 'AES-256-GCM', passphrase: key.reveal() },
});
