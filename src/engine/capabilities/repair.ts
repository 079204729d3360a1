import type { StepContext } from '../contexts.ts';
import type { Facts, Step, StepOutcome } from '../step.ts';

/** A restart that was decided because the node of a machine is unhealthy. */
export interface RestartRequest {
  /** RFC 3339; identifies the request. */
  readonly requestedAt: string;
  /** 1 for the first restart. A later one is more forceful where the platform can. */
  readonly attempt: number;
}

/** The reason of the drift that asks for a restart. */
export const restartRequestedReason = 'RestartRequested';

/** The fact that a restart was done. Each platform records it with the end of the step that does it. */
export const toRestartedFact = ({ requestedAt }: RestartRequest): Facts => ({ restartedFor: requestedAt });

export const isRestartDone = ({ requestedAt }: RestartRequest, facts: Facts): boolean =>
  facts['restartedFor'] === requestedAt;

/** The context of the repair steps of a machine. */
export type RepairContext<C = unknown> = StepContext<C> & {
  /** The drift reasons to repair: everything else stays as it is. */
  readonly reasons: readonly string[];
  /** A restart to do; undefined: none is requested, or it was done. */
  readonly restart?: RestartRequest | undefined;
};

/** For platforms that can repair existing machines. */
export interface RepairCapability<C = unknown> {
  /**
   * Run while an observation shows drift whose `repair` allows a repair, by itself or with approval. A run may end early
   * or restart at any step: each step checks first, and does nothing when nothing has to be repaired.
   */
  readonly steps: readonly Step<RepairContext<C>>[];
  /**
   * How often an unhealthy node is restarted before its machine is replaced. Default: never, its restart is left to the
   * user.
   */
  readonly restartAttempts?: number;
  /**
   * Called while a started machine waits to join its cluster: an action to take instead of waiting, such as going back
   * to the step that recreates a missing resource. Default: none.
   */
  recover?(context: StepContext<C>): Promise<StepOutcome | undefined>;
  /**
   * Called for a started machine whose node has not answered for minutes: powers it off, and goes back to the step that
   * starts it. Undefined when it does not run.
   */
  cutPower?(context: StepContext<C>): Promise<StepOutcome | undefined>;
}
