import type { Closable } from '../../engine/connection.ts';
import type { Clock } from '../../lib/clock.ts';
import { spreadById } from '../../lib/hash.ts';
import { LruMap } from '../../lib/lru-map.ts';
import type { Services } from '../shared/services.ts';

/** A database grows over days. */
const restSeconds = 3600;
/** While something is to be done, or refused. */
const pendingSeconds = 60;
/** More than the clusters of one provider. An evicted one starts like a new one. */
const maxClusters = 10_000;

/**
 * When the databases of a cluster are looked at. The first look of a process comes within an hour, at another time for
 * each cluster, so that its start asks no cluster.
 */
export class MaintenanceSchedule implements Closable {
  readonly #clock: Pick<Clock, 'monotonic'>;
  /** Due times in milliseconds, by UID of the Cluster. */
  readonly #due = new LruMap<string, number>(maxClusters);

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock;
  }

  /** Seconds until the next look; 0 if it is due. */
  secondsUntilLook(uid: string): number {
    const now = this.#clock.monotonic();
    const due = this.#due.get(uid) ?? now + firstLookSeconds(uid) * 1000;
    this.#due.set(uid, due);
    return Math.max(0, (due - now) / 1000);
  }

  /** A look has ended. Returns the seconds until the next one. */
  finish(uid: string, isPending: boolean): number {
    const seconds = isPending ? pendingSeconds : restSeconds;
    this.#due.set(uid, this.#clock.monotonic() + seconds * 1000);
    return seconds;
  }

  close(): void {
    this.#due.clear();
  }
}

const firstLookSeconds = (uid: string): number => restSeconds / 2 + spreadById(uid, restSeconds / 2);

export const maintenanceScheduleOf = ({ connections, clock }: Pick<Services, 'connections' | 'clock'>) =>
  connections.get('etcd-maintenance', () => new MaintenanceSchedule(clock));
