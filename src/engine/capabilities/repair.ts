import type { Step, StepContext, StepOutcome } from '../platform.ts';

/** What the steps that put a machine right are told beside the rest. */
export type RepairContext<C = unknown> = StepContext<C> & {
  /** The reasons of what is to be put right: all else stays as it is. */
  readonly reasons: readonly string[];
};

/** Where machines that were made can be put right again. */
export interface RepairCapability<C = unknown> {
  /**
   * Walked while an observation shows something that `mend` of its drift says can be put right, by itself or since a person
   * agreed. A walk may end early or begin anew at any step: each looks, and does nothing where nothing is to be done.
   */
  readonly mend: readonly Step<RepairContext<C>>[];
  /**
   * Called while a machine that was started waits to join its cluster: what is to be done in place of waiting, such as going
   * back to the step that makes what is gone.
   */
  recover(context: StepContext<C>): Promise<StepOutcome | undefined>;
  /**
   * Called for a machine that was started and whose node has not answered for minutes: takes the power away, and goes back to the step
   * that starts it. Undefined where it does not run.
   */
  cutPower?(context: StepContext<C>): Promise<StepOutcome | undefined>;
}
