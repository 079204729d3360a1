import type { Facts } from '../platform.ts';

/**
 * Where the section of a platform describes several places that machines can be made at, each with credentials of its own.
 * Whoever works at one of them sees the section as if it described that one alone.
 */
export interface FailureDomains<S, C> {
  /** In the order of the section. Empty: it describes a single place, which has no name. */
  names(section: S): readonly string[];
  /**
   * The section as it is for one of them. `facts` are those of the machine that is there: of one that was made before places
   * had names they tell which it is. Throws a ProviderError when the section has no such place any more.
   */
  at(section: S, site: string | undefined, facts: Facts): C;
  /** What a field of that is called in the section as people write it, e.g. `truenas.systems[1].pool`. */
  fieldAt(section: S, site: string | undefined, field: string): string;
}

/** Where somebody looks who looks at no machine. */
export interface InFailureDomain {
  /** Undefined: the platform has but one place. */
  readonly site: string | undefined;
}

/** All places of a section, for whoever goes round them: a single one has no name. */
export const failureDomainsOrDefault = (names: readonly string[]): readonly (string | undefined)[] =>
  names.length > 0 ? names : [undefined];
