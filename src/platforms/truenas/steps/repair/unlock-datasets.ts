import { done, type Step } from '../../../../engine/step.ts';
import { unlockOwnDatasets } from '../../resources/dataset/unlock.ts';
import type { TrueNasRepairContext } from './repair-context.ts';

/**
 * Before: a restart of the system may have locked datasets with a passphrase. After: the datasets that we encrypted are
 * unlocked. Done when none is locked.
 */
export const datasetsUnlocked: Step<TrueNasRepairContext> = {
  name: 'datasets-unlocked',
  async run(context) {
    if (context.reasons.includes('DatasetLocked')) await unlockOwnDatasets(context);
    return done();
  },
};
