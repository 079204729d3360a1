import type { StepContext } from '../contexts.ts';
import type { Step, StepOutcome } from '../step.ts';

/** The context of the repair steps of a machine. */
export type RepairContext<C = unknown> = StepContext<C> & {
  /** The drift reasons to repair: everything else stays as it is. */
  readonly reasons: readonly string[];
};

/** For platforms that can repair existing machines. */
export interface RepairCapability<C = unknown> {
  /**
   * Run while an observation shows drift whose `repair` allows a repair, by itself or with approval. A run may end early
   * or restart at any step: each step checks first, and does nothing when nothing has to be repaired.
   */
  readonly steps: readonly Step<RepairContext<C>>[];
  /**
   * Called while a started machine waits to join its cluster: an action to take instead of waiting, such as going back
   * to the step that recreates a missing resource.
   */
  recover(context: StepContext<C>): Promise<StepOutcome | undefined>;
  /**
   * Called for a started machine whose node has not answered for minutes: powers it off, and goes back to the step that
   * starts it. Undefined when it does not run.
   */
  cutPower?(context: StepContext<C>): Promise<StepOutcome | undefined>;
}
