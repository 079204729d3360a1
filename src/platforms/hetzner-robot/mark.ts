import type { Owner } from '../../engine/node.ts';
import { hashNames } from '../../lib/hash.ts';

/** Prefixes of the names of servers in use: ours, and that of Cluster API Provider Hetzner. */
const ownMarkPrefix = 'cpt.';
const clusterApiMarkPrefix = 'bm-';

/**
 * The name that a server has in Robot while a Machine holds it, e.g. `cpt.k3v9x2aq.shop-cp-0`. It is our ownership
 * mark: the name is the only property of a server that can be changed without side effects and that every client of the
 * account sees.
 */
export const markOf = (owner: Owner): string => `${providerMarkPrefix(owner)}${owner.machine}`;

const providerMarkPrefix = ({ installation, provider }: Owner): string =>
  `${ownMarkPrefix}${hashNames(installation, provider)}.`;

/** True for a name that a controller gives to its servers, whichever controller. */
export const isMark = (name: string): boolean =>
  name.startsWith(ownMarkPrefix) || name.startsWith(clusterApiMarkPrefix);

/**
 * The owner of a server by its name. A name that a user gave means no owner. `stale`: this provider gave the name to
 * another machine. Only one machine can hold the Host, so that other machine is gone and its server may be taken over.
 */
export function ownershipByName(
  name: string,
  owner: Owner,
  expected: string | undefined,
): 'ours' | 'stale' | 'others' | 'nobody' {
  if (name === markOf(owner)) return 'ours';
  if (name.startsWith(providerMarkPrefix(owner))) return 'stale';
  // The user wrote this name into the Host.
  if (name === expected) return 'nobody';
  return isMark(name) ? 'others' : 'nobody';
}
