import { type ClusterIdentity, clusterIdentityKey, filterClusterIdentityKeys } from '../../../api/cluster-identity.ts';
import type { KubeClient } from '../../../kube/client/client.ts';
import type { Clock } from '../../../lib/clock.ts';
import { waitOrAbort } from '../../../lib/deadline.ts';
import type { Log } from '../../../lib/log.ts';
import { NodeWatch } from './node-watch.ts';

/** Something that was heard of a cluster. */
export interface NodeWatchEvent {
  readonly cluster: ClusterIdentity;
  /** Which node has changed. Undefined: its API server is not heard of any more. */
  readonly node?: string;
}

/**
 * An open watch on the nodes of each cluster that runs. While it is open, a cluster and its machines need not be asked again and
 * again whether they are still there: the cluster tells.
 */
export class NodeWatches {
  readonly #options: { readonly clock: Clock; readonly log: Log };
  readonly #watches = new Map<string, NodeWatch>();
  readonly #listeners = new Set<(news: NodeWatchEvent) => void>();

  constructor(options: { clock: Clock; log: Log }) {
    this.#options = options;
  }

  /**
   * Listens to the cluster from now on; anew with another client, since the former one's certificate comes to its end. Returns when
   * something is known of it, or it is certain that nothing can be known now.
   */
  async follow(cluster: ClusterIdentity, client: KubeClient, signal: AbortSignal): Promise<void> {
    const id = clusterIdentityKey(cluster);
    const known = this.#watches.get(id);
    const watch = known?.client === client ? known : this.#open(cluster, client);
    this.#watches.set(id, watch);
    if (known !== watch) await known?.close();
    await waitOrAbort(watch.begun, signal);
  }

  /** Whether the API server is heard of right now. */
  isHeard(cluster: ClusterIdentity): boolean {
    return this.#watches.get(clusterIdentityKey(cluster))?.isHeard ?? false;
  }

  /** Whether it says so of the node right now. False: it does not, or it is not heard of. */
  isReady(cluster: ClusterIdentity, node: string): boolean {
    return this.#watches.get(clusterIdentityKey(cluster))?.isReady(node) ?? false;
  }

  /** Hears of every change from now on; returns how to stop. */
  onNews(listener: (news: NodeWatchEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Forgets a cluster that is gone; without a UID every one that had the name. */
  async forget(cluster: Parameters<typeof filterClusterIdentityKeys>[1]): Promise<void> {
    for (const id of filterClusterIdentityKeys(this.#watches.keys(), cluster)) {
      const watch = this.#watches.get(id);
      this.#watches.delete(id);
      await watch?.close();
    }
  }

  async close(): Promise<void> {
    const all = [...this.#watches.values()];
    this.#watches.clear();
    await Promise.all(all.map((watch) => watch.close()));
  }

  #open(cluster: ClusterIdentity, client: KubeClient): NodeWatch {
    const { clock, log } = this.#options;
    return new NodeWatch({
      ...{ name: `nodes of ${cluster.namespace}/${cluster.name}`, client, clock, log },
      changed: (node) => this.#tell({ cluster, node }),
      lost: () => this.#tell({ cluster }),
    });
  }

  #tell(news: NodeWatchEvent): void {
    for (const listener of this.#listeners) listener(news);
  }
}
