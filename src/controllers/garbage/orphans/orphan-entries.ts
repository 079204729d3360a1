import { maxListedOrphans, type OrphanEntry } from '../../../api/orphan-entry.ts';
import type { ProviderConfig } from '../../../api/provider-config.ts';
import type { Orphan } from '../../../engine/capabilities/orphans.ts';
import { isFutureTime } from '../../../lib/recorded-time.ts';
import { formatTime } from '../../../lib/text.ts';

/** The orphans in the status of a ProviderConfig. */
export type ListedOrphans = Pick<NonNullable<ProviderConfig['status']>, 'orphans' | 'orphanCount'>;

/** An orphan entry without its message and removal. */
export type ObservedOrphan = Omit<OrphanEntry, 'message' | 'removal'>;

/** After a longer gap between two scans, the state in between is unknown. Scans run every ten minutes. */
const maxObservationGapSeconds = 3600;

/**
 * Combines an observation with the earlier entry: when the orphan was first observed, and since when it is off. The
 * time of each observation is recorded, so that time without observation, e.g. while the provider was off, does not
 * count.
 */
export function updateObservation(
  { machine, resources, failureDomain }: Pick<Orphan, 'machine' | 'resources'> & Pick<OrphanEntry, 'failureDomain'>,
  isUnused: boolean,
  known: readonly OrphanEntry[],
  now: Date,
): ObservedOrphan {
  const before = known.find((one) => one.machine === machine);
  const seconds = formatTime(now);
  const location = failureDomain === undefined ? {} : { failureDomain };
  const observed = { machine, ...location, resources: resources.join(', '), since: before?.since ?? seconds };
  if (!isUnused) return observed;
  const lastSeenAt = before?.lastSeenAt ?? '';
  const gap = (now.getTime() - Date.parse(lastSeenAt)) / 1000;
  // A clock that was set back is no proof either.
  const isWatched = gap <= maxObservationGapSeconds && !isFutureTime(lastSeenAt, now);
  return { ...observed, unusedSince: (isWatched && before?.unusedSince) || seconds, lastSeenAt: seconds };
}

/**
 * The entries for the status: removals in progress and the oldest first, so that a new orphan does not displace an
 * older one.
 */
export function selectListedOrphans(entries: readonly OrphanEntry[]): OrphanEntry[] {
  const rank = ({ since, machine, removal }: OrphanEntry) => `${removal ? 0 : 1} ${since} ${machine}`;
  return [...entries].sort((a, b) => (rank(a) < rank(b) ? -1 : 1)).slice(0, maxListedOrphans);
}
