import { fail, type Outcome, type Step } from '../../../engine/platform.ts';
import { hasCode } from '../errors.ts';
import type { Context } from '../system.ts';

/** What belongs to others is said with the reason that all platforms share. */
export function sayWhenForeign(step: Step<Context>): Step<Context> {
  const run = async (context: Context): Promise<Outcome> => {
    try {
      return await step.run(context);
    } catch (error) {
      if (hasCode(error, 'OWNED_BY_OTHERS')) return fail('OwnedByOthers', error.message);
      throw error;
    }
  };
  return { ...step, run };
}
