import { done, type Step } from '../../../../engine/platform.ts';
import { emptySeeds } from '../post-join/post-join.ts';
import type { TrueNasRepairContext } from './repair-context.ts';

/**
 * Before: the machine joined when nothing took its configuration away. After: no seed of it holds one any more. Done when that is found
 * so. It comes last, so that it keeps nothing else from being put right.
 */
export const oldSeedEmptied: Step<TrueNasRepairContext> = {
  name: 'old-seed-emptied',
  async run(context) {
    if (!context.reasons.includes('SeedFull')) return done();
    await emptySeeds(context);
    return done({ seedEmptied: true });
  },
};
