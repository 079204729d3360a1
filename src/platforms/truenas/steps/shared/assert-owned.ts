import { fail, type Step, type StepOutcome } from '../../../../engine/step.ts';
import { hasCode } from '../../errors.ts';
import type { TrueNasStepContext } from '../../resources/machine-scope.ts';

/** Fails with the reason that all platforms share when an object has another owner. */
export function assertOwned(step: Step<TrueNasStepContext>): Step<TrueNasStepContext> {
  const run = async (context: TrueNasStepContext): Promise<StepOutcome> => {
    try {
      return await step.run(context);
    } catch (error) {
      if (hasCode(error, 'OWNED_BY_OTHERS')) return fail('OwnedByOthers', error.message);
      throw error;
    }
  };
  return { ...step, run };
}
