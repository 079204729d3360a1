import { done, type Step } from '../../../engine/platform.ts';
import { emptySeeds } from '../settle.ts';
import type { MendingContext } from './context.ts';

/**
 * Before: the machine joined when nothing took its configuration away. After: no seed of it holds one any more. Done when that is found
 * so. It comes last, so that it keeps nothing else from being put right.
 */
export const oldSeedEmptied: Step<MendingContext> = {
  name: 'old-seed-emptied',
  async run(context) {
    if (!context.reasons.includes('SeedFull')) return done();
    await emptySeeds(context);
    return done({ seedEmptied: true });
  },
};
