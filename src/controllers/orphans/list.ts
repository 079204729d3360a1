import { mostOrphans, type OrphanEntry } from '../../api/orphan-entry.ts';
import type { Orphan } from '../../engine/orphans.ts';

/** What is known of an orphan without what becomes of it. */
export type Sighting = Omit<OrphanEntry, 'message' | 'removal'>;

/** What was seen, with what is known from before: when it was first there, and since when nothing of it has run. */
export function recognize(
  orphan: Pick<Orphan, 'machine' | 'what' | 'runs'>,
  known: readonly OrphanEntry[],
  now: Date,
): Sighting {
  const before = known.find(({ machine }) => machine === orphan.machine);
  const seconds = `${now.toISOString().slice(0, 19)}Z`;
  return {
    machine: orphan.machine,
    what: orphan.what.join(', '),
    since: before?.since ?? seconds,
    ...(orphan.runs ? {} : { restingSince: before?.restingSince ?? seconds }),
  };
}

/** Those that are listed: what is being removed and the oldest first, so that none is forgotten for a newer one. */
export function shorten(entries: readonly OrphanEntry[]): OrphanEntry[] {
  const rank = ({ since, machine, removal }: OrphanEntry) => `${removal ? 0 : 1} ${since} ${machine}`;
  return [...entries].sort((a, b) => (rank(a) < rank(b) ? -1 : 1)).slice(0, mostOrphans);
}
