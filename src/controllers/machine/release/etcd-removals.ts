import type { Closable } from '../../../engine/connection.ts';
import { ConcurrencyLimit } from '../../../lib/resilience/concurrency-limit.ts';
import type { Services } from '../../shared/services.ts';

/**
 * Lets the control planes of a cluster leave etcd one after the other: two that are deleted at the same time would both
 * count the other one as healthy.
 */
export class EtcdRemovals implements Closable {
  /** By UID of the Cluster. */
  readonly #limits = new Map<string, ConcurrencyLimit>();

  async run<T>(cluster: string, work: () => Promise<T>, signal: AbortSignal): Promise<T> {
    const limit = this.#limits.get(cluster) ?? new ConcurrencyLimit(1);
    this.#limits.set(cluster, limit);
    try {
      return await limit.run(work, signal);
    } finally {
      if (limit.running === 0) this.#limits.delete(cluster);
    }
  }

  close(): void {
    this.#limits.clear();
  }
}

export const etcdRemovalsOf = ({ connections }: Pick<Services, 'connections'>): EtcdRemovals =>
  connections.get('etcd-removals', () => new EtcdRemovals());
