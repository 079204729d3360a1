import type { HardwareCapability } from '../../engine/capabilities/hardware.ts';
import { done, type Facts, fail, type Step, type StepOutcome, wait } from '../../engine/step.ts';
import { callNode } from '../join-steps.ts';
import { readFact, restartingOnChange, type UpdateStepContext, updateFacts } from './update-context.ts';

const pollSeconds = 3;

type UpdateStep = Step<UpdateStepContext>;

/** From here on the machine may be off. */
const mayBeOff = (facts: Facts): boolean => readFact(facts, updateFacts.hardwareBoot) !== '';

const getsHardware = (facts: Facts): boolean => facts[updateFacts.hardware] === true;

/** A step that is passed over unless the facts say that it is due, also when the plan stands at it already. */
const onlyIf = (step: UpdateStep, isDue: (facts: Facts) => boolean): UpdateStep => ({
  ...step,
  isNeeded: (facts) => isDue(facts) && (step.isNeeded?.(facts) ?? true),
  run: async (context): Promise<StepOutcome> => (isDue(context.facts) ? await step.run(context) : done()),
});

/**
 * A step that needs the node. It is passed over while the machine may be off for its hardware: a plan that begins again has
 * to get to the step that starts it.
 */
export const unlessOff = (step: UpdateStep): UpdateStep => onlyIf(step, (facts) => !mayBeOff(facts));

/** The steps before the drain that find out whether the platform has the desired hardware. */
export const admissionSteps = (hardware: HardwareCapability | undefined): readonly UpdateStep[] =>
  (hardware?.admission ?? []).map((step) => onlyIf(step, getsHardware));

/** Done when the present boot is recorded. Another boot afterwards proves that the machine was off. */
const bootStep: UpdateStep = {
  name: 'hardware-boot-recorded',
  deadlineMinutes: 10,
  run: (context) =>
    callNode(context, async (client, options) => done({ [updateFacts.hardwareBoot]: await client.bootId(options) })),
};

/**
 * Done when the node has booted anew and the platform shows the desired hardware. A machine that was never switched off,
 * because its former hardware is desired again, has nothing to prove.
 */
const proofStep: UpdateStep = {
  name: 'hardware-proven',
  deadlineMinutes: 20,
  run: (context) =>
    callNode(context, async (client, options): Promise<StepOutcome> => {
      const { facts, desired } = context;
      const isSameBoot = (await client.bootId(options)) === readFact(facts, updateFacts.hardwareBoot);
      const compared = await context.compareHardware?.();
      const change = compared?.changes.find((one) => one.class === 'hardware');
      // A desired state that has changed meanwhile is assessed again by the next step.
      if (!change || readFact(facts, updateFacts.revision) !== desired.revision)
        return done({ [updateFacts.hardwareBoot]: '' });
      if (isSameBoot) return wait(pollSeconds, 'The node has not booted with its new hardware yet.');
      return fail('HardwareDiffers', `The node has booted anew, and ${change.field} differs from its ProviderConfig.`);
    }),
};

/**
 * The steps from a drained node to one that has booted with other hardware. Once the machine may be off, they go on to the
 * end, whatever is desired meanwhile: only a running node can be assessed again.
 */
export const hardwareSteps = (hardware: HardwareCapability | undefined): readonly UpdateStep[] =>
  hardware
    ? [
        onlyIf(restartingOnChange(bootStep), (facts) => getsHardware(facts) && !mayBeOff(facts)),
        ...[...hardware.steps, proofStep].map((step) => onlyIf(step, mayBeOff)),
      ]
    : [];
