import type { Closable } from '../../../engine/connection.ts';
import type { Clock } from '../../../lib/clock.ts';
import type { Log } from '../../../lib/log.ts';
import { LruMap } from '../../../lib/lru-map.ts';
import type { Services } from '../../shared/services.ts';
import { FindingConfirmation } from './finding-confirmation.ts';
import { MembershipSchedule } from './membership-schedule.ts';

/** Of the reconcile that looks for orphans. */
export interface CollectionContext {
  readonly signal: AbortSignal;
  readonly log: Log;
}

/** What the process knows of the orphans of one cluster. */
export class ClusterOrphans {
  readonly members: FindingConfirmation;
  readonly schedule: MembershipSchedule;
  readonly nodes: FindingConfirmation;
  /** Why nothing was removed at last, so that the log tells it once. */
  problem: string | undefined;

  /** `uid`: of the Cluster. */
  constructor(clock: Pick<Clock, 'monotonic'>, uid: string) {
    this.members = new FindingConfirmation(clock);
    this.schedule = new MembershipSchedule(clock, uid);
    this.nodes = new FindingConfirmation(clock);
  }
}

/** More than the clusters of one provider. An evicted one starts like a new one. */
const maxClusters = 10_000;

class OrphanMemory implements Closable {
  readonly #clock: Pick<Clock, 'monotonic'>;
  /** By UID of the Cluster. */
  readonly #clusters = new LruMap<string, ClusterOrphans>(maxClusters);

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock;
  }

  of(uid: string): ClusterOrphans {
    const known = this.#clusters.get(uid) ?? new ClusterOrphans(this.#clock, uid);
    this.#clusters.set(uid, known);
    return known;
  }

  close(): void {
    this.#clusters.clear();
  }
}

export const clusterOrphansOf = (
  { connections, clock }: Pick<Services, 'connections' | 'clock'>,
  uid: string,
): ClusterOrphans => connections.get('cluster-orphans', () => new OrphanMemory(clock)).of(uid);
