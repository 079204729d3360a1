import type { InFailureDomain } from './capabilities/failure-domains.ts';
import type { PlatformContext, StepContext } from './contexts.ts';

/** The state of a machine on its platform right now. */
export interface Observation {
  readonly exists: boolean;
  /** The machine and its system disks do not exist: the platform answered, and shows none of them. */
  readonly isLost?: true;
  /** Undefined when the platform cannot tell. */
  readonly runs?: boolean;
  /**
   * Identifies the time since the last power-on: a different value means that it was off in between. Undefined when the
   * platform cannot tell.
   */
  readonly run?: string;
  /** The differences from the desired state, most important first. */
  readonly drift: readonly Drift[];
  /** The fingerprint of everything that this observation is based on, as {@link ObserveAllFunction} returns it. */
  readonly fingerprint?: string;
}

/** One observation of all ready machines of a failure domain. */
export type ObserveAllContext<C = unknown> = PlatformContext<C> &
  InFailureDomain & { readonly machines: readonly Pick<StepContext, 'owner' | 'facts'>[] };

/**
 * A short fingerprint of each machine, in their order, so that many can be cached: while the fingerprint of a machine
 * is unchanged, observing it again shows nothing new. Throws a ProviderError when the platform cannot be observed.
 */
export type ObserveAllFunction<C = unknown> = (context: ObserveAllContext<C>) => Promise<readonly string[]>;

/** One difference from the desired state. */
export interface Drift {
  /** UpperCamelCase, stable; the platform's guide documents the action for each reason. */
  readonly reason: string;
  /** The current state, and the consequence or the action to take, in sentences. */
  readonly message: string;
  /**
   * It differs from the current ProviderConfig, but not from how the machine was created. Reported only while the
   * platform accepts the ProviderConfig: a typing mistake is no reason to change a machine.
   */
  readonly byConfig?: true;
  /** The machine still works: the drift is reported, and blocks nothing. */
  readonly isMinor?: true;
  /** How it can be repaired, if it can. */
  readonly repair?: {
    /** `automatic`: the repair cannot lose anything. `with-approval`: the repair needs approval. */
    readonly mode: 'automatic' | 'with-approval';
    /** Completes a sentence, e.g. `it is started again`. */
    readonly effect: string;
    /** It is the end of an approved repair that has begun: it is done in maintenance, too. */
    readonly isStarted?: true;
    /** An earlier repair failed, as the message reports: it is not retried for now. */
    readonly isDeferred?: true;
  };
}
