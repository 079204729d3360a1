import type { Owner } from '../../engine/platform.ts';
import { hashNames } from '../../lib/hash.ts';

/** What begins the names of servers that are in use: ours, and those of Cluster API for Hetzner. */
const ownMarkPrefix = 'cpt.';
const clusterApiMarkPrefix = 'bm-';

/**
 * The name that a server has in Robot while a Machine holds it, e.g. `cpt.k3v9x2aq.shop-cp-0`. It is our mark: names are
 * the only thing about a server that can be changed without an effect and that every manager of an account sees.
 */
export const markOf = (owner: Owner): string => `${providerMarkPrefix(owner)}${owner.machine}`;

const providerMarkPrefix = ({ installation, provider }: Owner): string =>
  `${ownMarkPrefix}${hashNames(installation, provider)}.`;

/** Whether a name is one that managers of servers give, whichever of them. */
export const isMark = (name: string): boolean =>
  name.startsWith(ownMarkPrefix) || name.startsWith(clusterApiMarkPrefix);

/**
 * Whose a server is by its name. A name that people gave is nobody's. `stale`: this provider gave it to another machine. Only
 * one machine can hold the Host, so whoever holds it now may take it that the other one is gone.
 */
export function ownershipByName(
  name: string,
  owner: Owner,
  expected: string | undefined,
): 'ours' | 'stale' | 'others' | 'nobody' {
  if (name === markOf(owner)) return 'ours';
  if (name.startsWith(providerMarkPrefix(owner))) return 'stale';
  // Whoever wrote the name into the Host knows it.
  if (name === expected) return 'nobody';
  return isMark(name) ? 'others' : 'nobody';
}
