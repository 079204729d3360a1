import type { Facts } from '../step.ts';

/**
 * For a platform whose section describes several failure domains with separate credentials. Code that works in one of
 * them gets the section as if it described that one alone.
 */
export interface FailureDomains<S, C> {
  /** In the order of the section. Empty: the section describes a single failure domain without a name. */
  names(section: S): readonly string[];
  /**
   * The section reduced to one failure domain. `facts` are those of the existing machine: they identify the failure
   * domain of a machine that was created before failure domains had names. Throws a ProviderError when the section no
   * longer has this failure domain.
   */
  at(section: S, failureDomain: string | undefined, facts: Facts): C;
  /** The path of its field in the section as users write it, with the entry of its list. */
  fieldAt(section: S, failureDomain: string | undefined, field: string): string;
}

/** The failure domain of a context that has no machine. */
export interface InFailureDomain {
  /** Undefined: the platform has a single failure domain. */
  readonly failureDomain: string | undefined;
}

/** All failure domains of a section, for iteration: a single one has no name. */
export const failureDomainsOrDefault = (names: readonly string[]): readonly (string | undefined)[] =>
  names.length > 0 ? names : [undefined];
