import { done, type Step } from '../../../../engine/step.ts';
import { emptySeeds } from '../post-join/post-join.ts';
import type { TrueNasRepairContext } from './repair-context.ts';

/**
 * Before: the machine joined under a version that did not remove its configuration. After: no seed contains one. Done
 * when this is confirmed. It comes last, so that it blocks no other repair.
 */
export const oldSeedEmptied: Step<TrueNasRepairContext> = {
  name: 'old-seed-emptied',
  async run(context) {
    if (!context.reasons.includes('SeedFull')) return done();
    await emptySeeds(context);
    return done({ seedEmptied: true });
  },
};
