import { z } from 'zod';
import type { Drift } from '../../../../engine/observation.ts';
import { done, type Step } from '../../../../engine/platform.ts';
import { FolderEntry } from '../../api/schema.ts';
import { drift } from '../../observation/drift.ts';
import { unlockWhenLocked } from '../../resources/dataset/unlock.ts';
import { getFact, type MachineScope, machineScopeOf, type TrueNasStepContext } from '../../resources/machine-scope.ts';
import { emptiedSeed } from '../../resources/nocloud-seed.ts';
import { writeSeed } from '../provision/write-seed.ts';
import { assertOwned } from '../shared/assert-owned.ts';
import { goBackWhenMissing } from '../shared/go-back.ts';

/**
 * Before: the node has joined, so its configuration lies on its own disk, where Talos looks first. After: no seed of the
 * machine holds one any more, and with them the cluster's secrets have left the system; the discs stay attached, empty. Done
 * when all of them have the size of an empty one, which no seed has.
 */
const seedEmptied: Step<TrueNasStepContext> = {
  name: 'seed-emptied',
  async run(context) {
    await emptySeeds(context);
    return done({ seedEmptied: true });
  },
};

/** Puts an empty disc in the place of each seed of the machine that is not one. */
export async function emptySeeds(context: TrueNasStepContext): Promise<void> {
  const system = machineScopeOf(context);
  const attached = getFact(context, 'seed');
  const found = await findSeeds(system);
  const full = found.filter(({ size }) => size !== emptiedSeed.length).map(({ path }) => path);
  // One that somebody removed would keep the machine from its next start.
  const missing = found.some(({ path }) => path === attached) ? [] : [attached];
  for (const path of [...full, ...missing]) await writeSeed(context, system, path, emptiedSeed);
}

/** A machine that joined before anything was written down about that may have its configuration on the system still. */
export function seedDrift({ facts }: Pick<TrueNasStepContext, 'facts'>): Drift[] {
  if (facts['joined'] !== true || facts['seedEmptied'] !== undefined || typeof facts['seed'] !== 'string') return [];
  const message = 'Its configuration may still lie on the system: it was made by a release that did not take it away.';
  return [drift('SeedFull', message, { minor: true, mend: { when: 'by-itself', how: 'its seed is emptied' } })];
}

/** A walk that went back may have left more than one. */
async function findSeeds({ nas, identity, signal }: MachineScope): Promise<readonly FolderEntry[]> {
  const params = [`/mnt/${identity.dataset}`, [['name', '^', 'seed-']]];
  const found = await nas.read('filesystem.listdir', params, z.array(FolderEntry), { signal });
  return found.filter(({ type, name }) => type === 'FILE' && /^seed-[0-9a-f]{16}\.iso$/.test(name));
}

/** What is put right once the machine is a member. */
export const postJoin: readonly Step<TrueNasStepContext>[] = [
  assertOwned(unlockWhenLocked(goBackWhenMissing({ deadlineMinutes: 10, ...seedEmptied }))),
];
