import { formatObjectKey, type ObjectKey } from '../../../kube/resource.ts';

/** A cluster to which other ones came first. */
export interface WaitingCluster {
  readonly key: ObjectKey;
  readonly profile: string;
  /** Hash of the ProviderConfig that it is to follow. */
  readonly revision: string;
  readonly maxClusters: number;
}

interface Entry {
  readonly cluster: WaitingCluster;
  /** It is in the work queue, because a turn is free. */
  readonly isEnqueued: boolean;
}

/** A cluster that is not among them looks again by itself. */
const maxWaiting = 10_000;

/**
 * The clusters that wait for their turn, in the order in which they came. They are kept in memory only: after a restart each
 * cluster asks again.
 */
export class WaitingClusters {
  /** By key of the cluster. */
  readonly #entries = new Map<string, Entry>();
  /** Profiles of the clusters whose turn has come and that have not begun, by key. */
  readonly #next = new Map<string, string>();

  /** Other clusters come first. A cluster keeps its place. */
  add(cluster: WaitingCluster): void {
    const id = formatObjectKey(cluster.key);
    this.#next.delete(id);
    if (this.#entries.has(id) || this.#entries.size < maxWaiting) this.#entries.set(id, { cluster, isEnqueued: false });
  }

  /** No other cluster comes first. */
  remove(key: ObjectKey): void {
    const id = formatObjectKey(key);
    const entry = this.#entries.get(id);
    this.#entries.delete(id);
    if (entry) this.#next.set(id, entry.cluster.profile);
  }

  /** The turn is used. */
  begin(key: ObjectKey): void {
    this.#next.delete(formatObjectKey(key));
  }

  /** The profile of a cluster that may begin and has not begun. It waits no more. */
  takeUnused(key: ObjectKey): string | undefined {
    const id = formatObjectKey(key);
    if (this.#entries.get(id)?.isEnqueued) this.remove(key);
    const profile = this.#next.get(id);
    this.#next.delete(id);
    return profile;
  }

  first(profile: string): WaitingCluster | undefined {
    return this.#of(profile)[0]?.cluster;
  }

  /** Those whose turn has come, if so many turns are free. Each is returned once. */
  takeNext(profile: string, free: number): readonly ObjectKey[] {
    const all = this.#of(profile);
    const open = [...this.#next.values()].filter((other) => other === profile).length;
    const count = free - open - all.filter(({ isEnqueued }) => isEnqueued).length;
    const next = all.filter(({ isEnqueued }) => !isEnqueued).slice(0, Math.max(0, count));
    for (const { cluster } of next) this.#entries.set(formatObjectKey(cluster.key), { cluster, isEnqueued: true });
    return next.map(({ cluster }) => cluster.key);
  }

  /** How many clusters of the same profile wait for longer. */
  countBefore(key: ObjectKey): number {
    const id = formatObjectKey(key);
    const profile = this.#entries.get(id)?.cluster.profile;
    const place =
      profile === undefined ? 0 : this.#of(profile).findIndex(({ cluster }) => formatObjectKey(cluster.key) === id);
    return Math.max(0, place);
  }

  #of(profile: string): Entry[] {
    return [...this.#entries.values()].filter(({ cluster }) => cluster.profile === profile);
  }
}
