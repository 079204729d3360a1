import type { Step, StepOutcome } from '../../../../engine/step.ts';
import { connectTrueNas } from '../../api/client.ts';
import { SystemInformer } from '../../cache/system-informer.ts';
import type { TrueNasRemovalContext } from '../../resources/machine-scope.ts';

/** After a failure the system is not what the step took it for, so everything is read again before it is used. */
export function readAgainAfterFailure<C extends TrueNasRemovalContext>(step: Step<C>): Step<C> {
  const run = async (context: C): Promise<StepOutcome> => {
    const doubt = () => SystemInformer.of(connectTrueNas(context)).doubt();
    try {
      const outcome = await step.run(context);
      if (outcome.kind === 'fail') doubt();
      return outcome;
    } catch (error) {
      doubt();
      throw error;
    }
  };
  return { ...step, run };
}
