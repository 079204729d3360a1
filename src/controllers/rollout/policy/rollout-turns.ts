import { type ClusterIdentity, clusterIdentityKey } from '../../../api/cluster-identity.ts';
import type { Machine } from '../../../api/machine.ts';
import type { Cluster } from '../../../api/openmcp/types.ts';
import type { KeySource } from '../../../kube/controller/controller.ts';
import type { ObjectChange } from '../../../kube/reflector/object-store.ts';
import { type ObjectKey, objectKeyOf } from '../../../kube/resource.ts';
import { memoizeByObject } from '../../../lib/memoize-by-object.ts';
import { clusterIdentityOf } from '../../cluster/identity.ts';
import type { Services } from '../../shared/services.ts';
import { changeOf, isChangeInHand } from '../machine-change.ts';
import { readClusterRollout } from './cluster-rollout.ts';
import { countFreeTurns, findEarlierCluster, type RolloutCluster } from './decide-turn.ts';
import { readRolloutRequest } from './rollout-hold.ts';
import { WaitingClusters } from './waiting-clusters.ts';

/** The cluster that wants to change, and the rules of its ProviderConfig. */
export interface TurnRequest {
  readonly cluster: Cluster;
  /** Hash of the ProviderConfig. */
  readonly revision: string;
  readonly maxClusters: number;
}

type TurnStores = {
  readonly stores: {
    readonly clusters: Pick<Services['stores']['clusters'], 'by'>;
    readonly machines: Pick<Services['stores']['machines'], 'by'>;
  };
};

/** The write with which a cluster uses its turn. `version`: of the Machine after it; undefined while it is under way. */
interface TurnWrite {
  readonly machine: string;
  version?: string | undefined;
}

/**
 * The turns of the clusters of each ProviderConfig. What they follow from is in the objects, so that a restart changes
 * nothing. Only writes that the caches do not show yet are kept in memory, and which clusters wait, which look again by
 * themselves after a restart.
 */
export class RolloutTurns {
  /** By key of the cluster. */
  readonly #writes = new Map<string, TurnWrite>();
  readonly #waiting = new WaitingClusters();
  #enqueue: (key: ObjectKey) => void = () => {};

  /** Why another cluster comes first. Takes no turn. */
  findEarlier(sources: TurnStores, request: TurnRequest): string | undefined {
    const earlier = this.#findEarlier(sources, request);
    const { cluster, revision, maxClusters } = request;
    const key = objectKeyOf(cluster);
    if (earlier === undefined) this.#waiting.remove(key);
    else this.#waiting.add({ key, profile: cluster.spec.profile, revision, maxClusters });
    return earlier;
  }

  /** How many clusters wait for longer. */
  countBefore({ cluster }: Pick<TurnRequest, 'cluster'>): number {
    return this.#waiting.countBefore(objectKeyOf(cluster));
  }

  /** Enqueues the waiting clusters of a profile whose turn has come, so that they need not poll. */
  enqueueNext({ stores }: TurnStores, profile: string): void {
    const first = this.#waiting.first(profile);
    if (!first) return;
    const all = stores.clusters.by('profile', profile).filter(({ metadata }) => !metadata.deletionTimestamp);
    const free = countFreeTurns(
      all.map((one) => this.#describe({ stores }, one)),
      first,
    );
    for (const key of this.#waiting.takeNext(profile, free)) this.#enqueue(key);
  }

  /** After each reconcile of a cluster: if its turn has come and it has not begun, the next one is enqueued. */
  passOn(sources: TurnStores, key: ObjectKey): void {
    const profile = this.#waiting.takeUnused(key);
    if (profile !== undefined) this.enqueueNext(sources, profile);
  }

  /** Subscribes to the clusters that are enqueued; returns the unsubscribe function. */
  onEnqueue(listener: (key: ObjectKey) => void): () => void {
    this.#enqueue = listener;
    return () => {
      this.#enqueue = () => {};
    };
  }

  #findEarlier({ stores }: TurnStores, { cluster, ...rules }: TurnRequest): string | undefined {
    const { uid } = cluster.metadata;
    const all = stores.clusters.by('profile', cluster.spec.profile);
    const others = all.filter(({ metadata }) => metadata.uid !== uid && !metadata.deletionTimestamp);
    const describe = (one: Cluster): RolloutCluster => this.#describe({ stores }, one);
    return findEarlierCluster({ cluster: describe(cluster), others: others.map(describe), ...rules });
  }

  /**
   * If no other cluster comes first, this one has its turn, and `write` releases a Machine. Otherwise returns why another
   * one comes first.
   */
  async use(
    sources: TurnStores,
    request: TurnRequest,
    { metadata: { name: machine } }: Machine,
    write: () => Promise<Machine>,
  ): Promise<Machine | string> {
    const earlier = this.findEarlier(sources, request);
    if (earlier !== undefined) return earlier;
    const key = clusterIdentityKey(clusterIdentityOf(request.cluster));
    const turn: TurnWrite = { machine };
    this.#writes.set(key, turn);
    try {
      const written = await write();
      turn.version = written.metadata.resourceVersion ?? '0';
      this.#waiting.begin(objectKeyOf(request.cluster));
      return written;
    } catch (error) {
      // A write without an answer may have been made: then the next list or watch event shows it.
      this.#writes.delete(key);
      throw error;
    }
  }

  close(): void {}

  #describe({ stores }: TurnStores, cluster: Cluster): RolloutCluster {
    const { namespace = '', name } = cluster.metadata;
    const identity = clusterIdentityOf(cluster);
    const machines = machinesOf({ stores }, identity);
    const changes = machines.map(cachedChangeOf);
    const isPaused = readRolloutRequest(cluster) === 'pause';
    const rollout = readClusterRollout(cluster);
    // One machine after the other takes the place of a former one.
    const isReplacing = rollout?.state === 'Changing' && machines.some(isComingOrGoing);
    return {
      name: `${namespace}/${name}`,
      namespace,
      clusterConfigs: (cluster.spec.clusterConfigs ?? []).map((reference) => reference.name),
      rollout,
      isChanging:
        changes.some(isChangeInHand) || isReplacing || this.#isWriting(clusterIdentityKey(identity), machines),
      isWaiting: !isPaused && changes.includes('waiting'),
      failed: machines[changes.indexOf('failed')]?.metadata.name,
    };
  }

  /** Whether the caches do not show yet what the cluster has used its turn for. */
  #isWriting(key: string, machines: readonly Machine[]): boolean {
    const turn = this.#writes.get(key);
    if (!turn) return false;
    const shown = machines.find(({ metadata }) => metadata.name === turn.machine);
    const isOver = turn.version !== undefined && (!shown || isSameOrNewer(shown, turn.version));
    if (isOver) this.#writes.delete(key);
    return !isOver;
  }
}

const isComingOrGoing = ({ metadata, status }: Machine): boolean =>
  metadata.deletionTimestamp !== undefined || status?.compared === undefined;

/** Objects in a cache are immutable. Every cluster that waits looks at the Machines of all others. */
const cachedChangeOf = memoizeByObject(changeOf);

/** Resource versions of one object are comparable integers (KEP-5504). */
const isSameOrNewer = ({ metadata }: Machine, version: string): boolean =>
  BigInt(metadata.resourceVersion ?? '0') >= BigInt(version);

const machinesOf = ({ stores }: TurnStores, identity: ClusterIdentity): readonly Machine[] =>
  stores.machines.by('cluster', clusterIdentityKey(identity));

export const rolloutTurnsOf = ({ connections }: Pick<Services, 'connections'>): RolloutTurns =>
  connections.get('rollout-turns', () => new RolloutTurns());

/** The clusters that may change now, because the turn of another one has ended, or was not used. */
export const turnKeySource = (services: Pick<Services, 'stores' | 'connections'>): KeySource => {
  const { clusters } = services.stores;
  const turns = rolloutTurnsOf(services);
  return {
    synced: clusters.synced,
    subscribe: (enqueue) => {
      const stops = [
        turns.onEnqueue((key) => enqueue(key, 'high')),
        clusters.onChange((change) => {
          if (hasEndedTurn(change)) turns.enqueueNext(services, change.object.spec.profile);
        }),
      ];
      return () => stops.forEach((stop) => void stop());
    },
  };
};

export function hasEndedTurn(change: ObjectChange<Cluster>): boolean {
  if (change.kind === 'deleted') return true;
  if (change.kind !== 'updated' || !change.before) return false;
  if (readRolloutRequest(change.object) !== readRolloutRequest(change.before)) return true;
  const [before, after] = [readClusterRollout(change.before), readClusterRollout(change.object)];
  if (after?.state === before?.state && after?.revision === before?.revision) return false;
  // A change may begin and end between two reconciles.
  return after?.state === 'Changed' || (before?.state === 'Changing' && after?.state !== 'Changing');
}
