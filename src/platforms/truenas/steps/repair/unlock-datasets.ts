import { done, type Step } from '../../../../engine/platform.ts';
import { unlockOwnDatasets } from '../../resources/dataset/unlock.ts';
import type { TrueNasRepairContext } from './repair-context.ts';

/**
 * Before: the system may have been restarted, which locks what it has no passphrase of. After: what we have encrypted is open again.
 * Done when none of it is locked.
 */
export const datasetsUnlocked: Step<TrueNasRepairContext> = {
  name: 'datasets-unlocked',
  async run(context) {
    if (context.reasons.includes('DatasetLocked')) await unlockOwnDatasets(context);
    return done();
  },
};
