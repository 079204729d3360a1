import { type ClusterIdentity, clusterIdentityKey, filterClusterIdentityKeys } from '../../../api/cluster-identity.ts';
import type { KubeClient } from '../../../kube/client/client.ts';
import type { Clock } from '../../../lib/clock.ts';
import { waitOrAbort } from '../../../lib/deadline.ts';
import type { Log } from '../../../lib/log.ts';
import { NodeWatch } from './node-watch.ts';

/** A change in a cluster. */
export interface NodeWatchEvent {
  readonly cluster: ClusterIdentity;
  /** The Node that has changed. Undefined: the API server is unreachable. */
  readonly node?: string;
}

/**
 * One open watch on the Nodes of each running cluster. While it is open, a cluster and its machines need no polling.
 */
export class NodeWatches {
  readonly #options: { readonly clock: Clock; readonly log: Log };
  readonly #watches = new Map<string, NodeWatch>();
  readonly #listeners = new Set<(news: NodeWatchEvent) => void>();

  constructor(options: { clock: Clock; log: Log }) {
    this.#options = options;
  }

  /**
   * Opens the watch of a cluster, or replaces it for another client, whose certificate is valid for longer. Returns
   * when the Nodes are known or the first request has failed.
   */
  async watch(cluster: ClusterIdentity, client: KubeClient, signal: AbortSignal): Promise<void> {
    const id = clusterIdentityKey(cluster);
    const known = this.#watches.get(id);
    const watch = known?.client === client ? known : this.#open(cluster, client);
    this.#watches.set(id, watch);
    if (known !== watch) await known?.close();
    await waitOrAbort(watch.isStarted, signal);
  }

  /** Whether the watch of the cluster is open and current. */
  isConnected(cluster: ClusterIdentity): boolean {
    return this.#watches.get(clusterIdentityKey(cluster))?.isConnected ?? false;
  }

  /** Whether the Node is Ready. False also while the watch is not current. */
  isReady(cluster: ClusterIdentity, node: string): boolean {
    return this.#watches.get(clusterIdentityKey(cluster))?.isReady(node) ?? false;
  }

  /** The names of the Nodes that are not Ready. None while the watch is not current. */
  listUnready(cluster: ClusterIdentity): readonly string[] {
    return this.#watches.get(clusterIdentityKey(cluster))?.listUnready() ?? [];
  }

  /** Subscribes to all changes; returns the unsubscribe function. */
  onChange(listener: (news: NodeWatchEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Closes the watch of a deleted cluster; without a UID the watches of all clusters of that name. */
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
      changed: (node) => this.#emit({ cluster, node }),
      lost: () => this.#emit({ cluster }),
    });
  }

  #emit(news: NodeWatchEvent): void {
    for (const listener of this.#listeners) listener(news);
  }
}
