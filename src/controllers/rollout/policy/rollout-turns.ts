import { type ClusterIdentity, clusterIdentityKey } from '../../../api/cluster-identity.ts';
import type { Machine } from '../../../api/machine.ts';
import type { Cluster } from '../../../api/openmcp/types.ts';
import { clusterIdentityOf } from '../../cluster/identity.ts';
import type { Services } from '../../shared/services.ts';
import { changeOf, isChangeInHand, type MachineChange } from '../machine-change.ts';
import { readClusterRollout } from './cluster-rollout.ts';
import { findEarlierCluster, type RolloutCluster } from './decide-turn.ts';
import { readRolloutRequest } from './rollout-hold.ts';

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
 * nothing. Only writes that the caches do not show yet are kept in memory.
 */
export class RolloutTurns {
  /** By key of the cluster. */
  readonly #writes = new Map<string, TurnWrite>();

  /** Why another cluster comes first. Takes no turn. */
  findEarlier({ stores }: TurnStores, { cluster, ...rules }: TurnRequest): string | undefined {
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
const knownChanges = new WeakMap<Machine, MachineChange>();

function cachedChangeOf(machine: Machine): MachineChange {
  const change = knownChanges.get(machine) ?? changeOf(machine);
  knownChanges.set(machine, change);
  return change;
}

/** Resource versions of one object are comparable integers (KEP-5504). */
const isSameOrNewer = ({ metadata }: Machine, version: string): boolean =>
  BigInt(metadata.resourceVersion ?? '0') >= BigInt(version);

const machinesOf = ({ stores }: TurnStores, identity: ClusterIdentity): readonly Machine[] =>
  stores.machines.by('cluster', clusterIdentityKey(identity));

export const rolloutTurnsOf = ({ connections }: Pick<Services, 'connections'>): RolloutTurns =>
  connections.get('rollout-turns', () => new RolloutTurns());
