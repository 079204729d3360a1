import { maxListedOrphans, type OrphanEntry } from '../../api/orphan-entry.ts';
import type { Orphan } from '../../engine/capabilities/orphans.ts';

/** What is known of an orphan without what becomes of it. */
export type ObservedOrphan = Omit<OrphanEntry, 'message' | 'removal'>;

/** A longer gap between two looks, and nobody can say what happened in it. Looks come every ten minutes. */
const maxObservationGapSeconds = 3600;

/**
 * What was seen, with what is known from before: when it was first there, and since when it rests. That is written down with each look as
 * long as it counts, so that a provider that was away for long does not take its own sleep for that of the machine.
 */
export function updateObservation(
  { machine, what, site }: Pick<Orphan, 'machine' | 'what'> & Pick<OrphanEntry, 'site'>,
  isResting: boolean,
  known: readonly OrphanEntry[],
  now: Date,
): ObservedOrphan {
  const before = known.find((one) => one.machine === machine);
  const seconds = `${now.toISOString().slice(0, 19)}Z`;
  const place = site === undefined ? {} : { site };
  const sighting = { machine, ...place, what: what.join(', '), since: before?.since ?? seconds };
  if (!isResting) return sighting;
  const gap = (now.getTime() - Date.parse(before?.lookedAt ?? '')) / 1000;
  // A clock that was set back makes no proof either.
  const isWatched = gap > -60 && gap <= maxObservationGapSeconds;
  return { ...sighting, restingSince: (isWatched && before?.restingSince) || seconds, lookedAt: seconds };
}

/** Those that are listed: what is being removed and the oldest first, so that none is forgotten for a newer one. */
export function selectListedOrphans(entries: readonly OrphanEntry[]): OrphanEntry[] {
  const rank = ({ since, machine, removal }: OrphanEntry) => `${removal ? 0 : 1} ${since} ${machine}`;
  return [...entries].sort((a, b) => (rank(a) < rank(b) ? -1 : 1)).slice(0, maxListedOrphans);
}
