import { z } from 'zod';
import { done, type Facts, fail, type Outcome } from '../../engine/platform.ts';
import type { Secret } from '../../lib/secret.ts';
import { endpointOf } from './config.ts';
import { foldersElsewhere, recordedDisks } from './data-disks.ts';
import { isEncrypted } from './encrypted.ts';
import { pinAll } from './pinned-roots.ts';
import { Pool } from './schema.ts';
import { type Context, ensureDataset, findOwnDataset, type System } from './system.ts';

/** The filesystems that hold all of a machine, one for each pool. Of an encrypted one each has the passphrase for itself. */
export const rootsOf = (facts: Facts, { identity }: Pick<System, 'identity'>): readonly string[] => [
  identity.dataset,
  ...foldersElsewhere(recordedDisks(facts), identity.dataset),
];

/**
 * Makes one of them, or finds it made. What is made below takes its encryption from it.
 * One that is not encrypted, or not by itself, is left as it is: nothing can encrypt it any more.
 */
export async function ensureFolder(context: Context, system: System, id: string): Promise<Outcome> {
  const folder = { type: 'FILESYSTEM', create_ancestors: true };
  if (!isEncrypted(context)) {
    const { encryption_root: root } = await ensureDataset(system, id, folder);
    // Left by a Machine of this name that was deleted by force: it is what it is, whatever sizes say by now.
    return done(root === id && context.diskKey.isKept() ? { encrypted: true } : undefined);
  }
  const found = await findOwnDataset(system, id);
  if (found && found.encryption_root !== id) return unfit(id);
  const key = await keyFor(context, system);
  const made = await ensureDataset(system, id, { ...folder, ...encryptedWith(key) });
  return made.encryption_root === id ? done() : unfit(id);
}

const unfit = (id: string): Outcome =>
  fail(
    'NotEncrypted',
    `The dataset ${id} is there and is not encrypted with a key of its own. Delete the Machine to have it made anew.`,
  );

/** Drawn only while nothing is there that another one would have to open. */
async function keyFor(context: Context, system: System): Promise<Secret> {
  const roots = rootsOf(context.facts, system);
  for (const id of roots) {
    if (await findOwnDataset(system, id)) return await context.diskKey.read();
  }
  const { nas, signal } = system;
  const pools = await nas.read('pool.query', [], z.array(Pool), { signal });
  return await context.diskKey.ensure({ system: endpointOf(context.config).host, roots: pinAll(pools, roots) });
}

/**
 * As `pool.dataset.create` is told: algorithms in capitals, and not to inherit. A passphrase, not a key: keys TrueNAS keeps in its
 * own database, and opens with them for whoever has the system. Anything may lie below a passphrase but a key.
 */
const encryptedWith = (key: Secret): object => ({
  ...{ encryption: true, inherit_encryption: false },
  encryption_options: { algorithm: 'AES-256-GCM', passphrase: key.reveal() },
});
