import type { Step, StepOutcome } from '../../../../engine/step.ts';
import { connectTrueNas } from '../../api/client.ts';
import { SystemInformer } from '../../cache/system-informer.ts';
import type { TrueNasRemovalContext } from '../../resources/machine-scope.ts';

/** A step that fails may have relied on outdated state, so everything is read again before its next use. */
export function readAgainAfterFailure<C extends TrueNasRemovalContext>(step: Step<C>): Step<C> {
  const run = async (context: C): Promise<StepOutcome> => {
    const uncertainty = () => SystemInformer.of(connectTrueNas(context)).outdateAll();
    try {
      const outcome = await step.run(context);
      if (outcome.kind === 'fail') uncertainty();
      return outcome;
    } catch (error) {
      uncertainty();
      throw error;
    }
  };
  return { ...step, run };
}
