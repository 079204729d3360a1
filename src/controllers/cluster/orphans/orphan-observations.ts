import type { Closable } from '../../../engine/connection.ts';
import type { Clock } from '../../../lib/clock.ts';
import type { Services } from '../../shared/services.ts';

/** How long an orphan must be seen without a break before it is removed: a cache may be late, or a Machine not there yet. */
export const orphanGraceSeconds = 60;

/** More than the nodes of the largest supported cluster. What is left out waits for its turn. */
const maxOrphans = 1000;

/**
 * Since when the orphans of each cluster have been seen. In memory only: after a restart of the provider, or a change of
 * its leader, the time begins anew.
 */
export class OrphanObservations implements Closable {
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #since = new Map<string, ReadonlyMap<string, number>>();

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock;
  }

  /** Records the orphans that are seen now, instead of the former ones, and returns those that have been seen for long. */
  record(cluster: string, orphans: readonly string[]): string[] {
    const now = this.#clock.monotonic();
    const before = this.#since.get(cluster);
    const since = new Map(orphans.slice(0, maxOrphans).map((orphan) => [orphan, before?.get(orphan) ?? now]));
    if (since.size === 0) this.#since.delete(cluster);
    else this.#since.set(cluster, since);
    return [...since].filter(([, first]) => now - first >= orphanGraceSeconds * 1000).map(([orphan]) => orphan);
  }

  close(): void {
    this.#since.clear();
  }
}

/** One for Nodes and one for members of etcd. */
export const orphanObservationsOf = (
  { connections, clock }: Pick<Services, 'connections' | 'clock'>,
  kind: 'nodes' | 'members',
): OrphanObservations => connections.get(`orphan-${kind}`, () => new OrphanObservations(clock));
