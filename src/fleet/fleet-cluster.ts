import type { KubeClient } from '../kube/client/client.ts';
import type { ApiServerConnectionParts } from '../kube/transport/api-server-connection.ts';
import { ReplaceableConnection } from './replaceable-connection.ts';

/** What an inventory knows of a cluster. */
export interface ClusterEntry {
  /** The identity of the cluster itself. Another cluster of the same name has another one. */
  readonly id: string;
  /** The ClusterSet of which it is a member, for logs. */
  readonly clusterSet?: string;
  readonly connection: ApiServerConnectionParts;
}

/** Opens the client of a cluster. */
export type OpenClient = (connection: ReplaceableConnection, name: string) => KubeClient;

/** A cluster of the fleet, as consumers see it. It is the same object until the cluster leaves or gets another server. */
export class FleetCluster {
  readonly name: string;
  readonly id: string;
  readonly clusterSet: string | undefined;
  readonly connection: ReplaceableConnection;
  readonly client: KubeClient;
  readonly #end = new AbortController();
  readonly #tasks = new Set<Promise<unknown>>();

  constructor(name: string, { id, clusterSet, connection }: ClusterEntry, open: OpenClient) {
    this.name = name;
    this.id = id;
    this.clusterSet = clusterSet;
    this.connection = new ReplaceableConnection(connection);
    this.client = open(this.connection, name);
  }

  /** Aborts when the cluster leaves the fleet, or is replaced. Everything for it has to end then. */
  get signal(): AbortSignal {
    return this.#end.signal;
  }

  /** Work that ends with the signal. {@link end} waits for it. It reports its errors itself. */
  track(task: Promise<unknown>): void {
    const settled = task.catch(() => {}).finally(() => this.#tasks.delete(settled));
    this.#tasks.add(settled);
  }

  async end(reason: string): Promise<void> {
    this.#end.abort(new Error(`The cluster ${this.name} has left the fleet: ${reason}.`));
    await Promise.all(this.#tasks);
    await this.client.close();
  }
}
