import type { ListOptions } from '../kube/client/client-types.ts';
import type { ObjectChange } from '../kube/reflector/object-store.ts';
import { Reflector } from '../kube/reflector/reflector.ts';
import type { KubeObject, ResourceType } from '../kube/resource.ts';
import type { Clock } from '../lib/clock.ts';
import type { Log } from '../lib/log.ts';
import type { FleetCluster } from './fleet-cluster.ts';
import { ClusterNotFoundError } from './fleet-errors.ts';

export interface FleetCacheOptions extends ListOptions {
  /** Maximum number of objects of one cluster. Its cache is not filled beyond it. */
  readonly maxObjects: number;
}

type IndexFunction<T> = (object: T) => readonly string[];

/** What a cache of a cluster can be asked. */
export type ClusterCache<T extends KubeObject> = Pick<Reflector<T>, 'get' | 'list' | 'by' | 'health' | 'isSynced'>;

/** The objects of one kind in all clusters of a fleet. Each cluster has a watch and a store of its own. */
export class FleetCache<T extends KubeObject> {
  readonly type: ResourceType<T>;
  readonly #options: FleetCacheOptions;
  readonly #indexes = new Map<string, IndexFunction<T>>();
  readonly #reflectors = new Map<FleetCluster, Reflector<T>>();
  readonly #listeners = new Set<(cluster: FleetCluster, change: ObjectChange<T>) => void>();

  constructor(type: ResourceType<T>, options: FleetCacheOptions) {
    this.type = type;
    this.#options = options;
  }

  /** Adds an index for the clusters that there are, and for all that join. Throws for a name that is in use. */
  addIndex(name: string, index: IndexFunction<T>): void {
    if (this.#indexes.has(name))
      throw new TypeError(`The cache of ${this.type.plural} has an index "${name}" already.`);
    const safe = tolerant(index);
    this.#indexes.set(name, safe);
    for (const reflector of this.#reflectors.values()) reflector.addIndex(name, safe);
  }

  /** Throws {@link ClusterNotFoundError} for a cluster that has left. */
  of(cluster: FleetCluster): ClusterCache<T> {
    const reflector = this.#reflectors.get(cluster);
    if (!reflector) throw new ClusterNotFoundError(cluster.name);
    return reflector;
  }

  /** Calls the listener for each change in any cluster. Returns a function that unsubscribes. */
  onChange(listener: (cluster: FleetCluster, change: ObjectChange<T>) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Watches a cluster until it leaves. For the fleet. */
  open(cluster: FleetCluster, { clock, log }: { readonly clock: Clock; readonly log: Log }): Reflector<T> {
    const reflector = new Reflector(cluster.client, this.type, {
      ...this.#options,
      ...{ name: `${this.type.plural} of ${cluster.name || 'the host cluster'}`, clock, log },
      indexes: Object.fromEntries(this.#indexes),
    });
    reflector.onChange((change) => {
      for (const listener of this.#listeners) listener(cluster, change);
    });
    this.#reflectors.set(cluster, reflector);
    const watch = reflector.start(cluster.signal).finally(() => this.#reflectors.delete(cluster));
    cluster.track(watch);
    return reflector;
  }
}

/** An object that an index function cannot read is not in the index: its cluster is watched all the same. */
const tolerant =
  <T>(index: IndexFunction<T>): IndexFunction<T> =>
  (object) => {
    try {
      return index(object);
    } catch {
      return [];
    }
  };
