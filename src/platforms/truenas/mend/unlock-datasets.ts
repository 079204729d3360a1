import { done, type Step } from '../../../engine/platform.ts';
import { unlockOwn } from '../unlock.ts';
import type { MendingContext } from './context.ts';

/**
 * Before: the system may have been restarted, which locks what it has no passphrase of. After: what we have encrypted is open again.
 * Done when none of it is locked.
 */
export const datasetsUnlocked: Step<MendingContext> = {
  name: 'datasets-unlocked',
  async run(context) {
    if (context.reasons.includes('DatasetLocked')) await unlockOwn(context);
    return done();
  },
};
