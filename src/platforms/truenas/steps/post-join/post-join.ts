import { z } from 'zod';
import type { Drift } from '../../../../engine/observation.ts';
import { done, type Step } from '../../../../engine/step.ts';
import { FolderEntry } from '../../api/schema.ts';
import { drift } from '../../observation/drift.ts';
import { unlockWhenLocked } from '../../resources/dataset/unlock.ts';
import {
  findOwnDataset,
  getFact,
  type MachineScope,
  machineScopeOf,
  type TrueNasStepContext,
} from '../../resources/machine-scope.ts';
import { emptiedSeed } from '../../resources/nocloud-seed.ts';
import { writeSeed } from '../provision/write-seed.ts';
import { assertOwned } from '../shared/assert-owned.ts';
import { goBackWhenMissing } from '../shared/go-back.ts';

/**
 * Before: the node has joined, so its configuration is on its own disk, where Talos looks first. After: no seed of the
 * machine contains one, so the cluster's secrets have left the system; the discs stay attached, empty. Done when all of
 * them have the size of an empty disc, which no seed has.
 */
const seedEmptied: Step<TrueNasStepContext> = {
  name: 'seed-emptied',
  async run(context) {
    await emptySeeds(context);
    return done({ seedEmptied: true });
  },
};

/** Replaces each seed of the machine that is not empty. */
export async function emptySeeds(context: TrueNasStepContext): Promise<void> {
  const system = machineScopeOf(context);
  const attached = getFact(context, 'seed');
  const found = await findSeeds(system);
  const full = found.filter(({ size }) => size !== emptiedSeed.length).map(({ path }) => path);
  // A missing file would prevent the next start of the machine.
  const missing = found.some(({ path }) => path === attached) ? [] : [attached];
  const due = [...full, ...missing];
  // The dataset is known from long ago, so it is read before anything is written into it.
  if (due.length > 0) await findOwnDataset(system, system.identity.dataset);
  for (const path of due) await writeSeed(context, system, path, emptiedSeed);
}

/** A machine that joined under an older version may still have its configuration on the system. */
export function seedDrift({ facts }: Pick<TrueNasStepContext, 'facts'>): Drift[] {
  if (facts['joined'] !== true || facts['seedEmptied'] !== undefined || typeof facts['seed'] !== 'string') return [];
  const message =
    'The machine configuration may still be on the system: the machine was created by a release that did not remove it.';
  return [drift('SeedFull', message, { isMinor: true, repair: { mode: 'automatic', effect: 'the seed is cleared' } })];
}

/** A walk that went back may have left several seeds. */
async function findSeeds({ nas, identity, signal }: MachineScope): Promise<readonly FolderEntry[]> {
  const params = [`/mnt/${identity.dataset}`, [['name', '^', 'seed-']]];
  const found = await nas.read('filesystem.listdir', params, z.array(FolderEntry), { signal });
  return found.filter(({ type, name }) => type === 'FILE' && /^seed-[0-9a-f]{16}\.iso$/.test(name));
}

/** The steps after the machine has joined. */
export const postJoin: readonly Step<TrueNasStepContext>[] = [
  assertOwned(unlockWhenLocked(goBackWhenMissing({ deadlineMinutes: 10, ...seedEmptied }))),
];
