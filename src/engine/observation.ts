import type { InFailureDomain } from './capabilities/failure-domains.ts';
import type { PlatformContext, StepContext } from './platform.ts';

/** What a platform sees of a machine right now. */
export interface Observation {
  readonly exists: boolean;
  /** It does not exist, and neither do the disks that its system was on: the platform answered, and shows none of them. */
  readonly lost?: true;
  /** Undefined where the platform cannot tell. */
  readonly runs?: boolean;
  /**
   * Names the time since it was switched on last: another value means that it was off in between. Undefined where the platform
   * cannot tell.
   */
  readonly run?: string;
  /** What differs from what was made, what matters most first. */
  readonly drift: readonly Drift[];
  /** All that this was judged by, as {@link ObserveAllFunction} has it. */
  readonly trace?: string;
}

/** One look for all machines of a place that are at rest. */
export type ObserveAllContext<C = unknown> = PlatformContext<C> &
  InFailureDomain & { readonly machines: readonly Pick<StepContext, 'owner' | 'facts'>[] };

/**
 * What can be seen of each, in their order, in so few letters that many can be remembered: as long as the trace of a machine is the
 * same, there is nothing new to be observed of it. Throws a ProviderError where nobody can look.
 */
export type ObserveAllFunction<C = unknown> = (context: ObserveAllContext<C>) => Promise<readonly string[]>;

/** One thing that is not as it was made. */
export interface Drift {
  /** UpperCamelCase, stable; the guide of the platform says what to do about each. */
  readonly reason: string;
  /** What is, and what becomes of it or what to do, in sentences for people. */
  readonly message: string;
  /**
   * It differs from what the ProviderConfig says now, and not from how it was made. Told only while the platform accepts that
   * ProviderConfig: what is a typing mistake there is no reason to change a machine.
   */
  readonly byConfig?: true;
  /** The machine serves as before: it is told, and stands in nobody's way. */
  readonly minor?: true;
  /** How it can be put right, if it can. */
  readonly mend?: {
    /** `by-itself`: nothing can be lost by it. `when-agreed`: a person has to say so first. */
    readonly when: 'by-itself' | 'when-agreed';
    /** Completes a sentence, e.g. `it is started again`. */
    readonly how: string;
    /** It is the end of something that people agreed to and that has begun: it is done in maintenance, too. */
    readonly begun?: true;
    /** It was tried a while ago in vain, as the message tells: not again for now. */
    readonly later?: true;
  };
}
