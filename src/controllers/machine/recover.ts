import type { Machine } from '../../api/machine.ts';
import type { Outcome, Platform, Step } from '../../engine/platform.ts';
import { ProviderError } from '../../lib/errors.ts';
import type { TalosStepContext } from '../../talos/steps.ts';
import { wishesOf } from './mend.ts';

/** A step that waits for the node, while the platform sees to it that there is a machine which can become one. */
export function recoverWhileWaiting(
  step: Step<TalosStepContext>,
  machine: Machine,
  { mending }: Platform,
): Step<TalosStepContext> {
  if (!mending || wishesOf(machine).maintenance) return step;
  const run = async (context: TalosStepContext): Promise<Outcome> => {
    const outcome = await step.run(context);
    if (outcome.kind !== 'wait') return outcome;
    try {
      return (await mending.recover(context)) ?? outcome;
    } catch (error) {
      // The node may come up all the same: what it waits for matters more.
      if (error instanceof ProviderError) return outcome;
      throw error;
    }
  };
  return { ...step, run };
}
