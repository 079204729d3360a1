import { type ClusterIdentity, clusterIdentityKey } from '../../../api/cluster-identity.ts';
import type { Machine } from '../../../api/machine.ts';
import type { Cluster } from '../../../api/openmcp/types.ts';
import { clusterIdentityOf } from '../../cluster/identity.ts';
import type { Services } from '../../shared/services.ts';
import { hasFailed, isInHand, isWaiting } from '../machine-change.ts';
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

/**
 * The turns of the clusters of each ProviderConfig. What they follow from is in the objects, so that a restart changes
 * nothing. Only the turns of this moment are kept in memory, until the caches show them.
 */
export class RolloutTurns {
  /** Keys of clusters, by profile. */
  readonly #taken = new Map<string, Set<string>>();

  /** Why another cluster comes first. Takes no turn. */
  findEarlier({ stores }: TurnStores, { cluster, ...rules }: TurnRequest): string | undefined {
    const { uid } = cluster.metadata;
    const all = stores.clusters.by('profile', cluster.spec.profile);
    const others = all.filter(({ metadata }) => metadata.uid !== uid && !metadata.deletionTimestamp);
    const describe = (one: Cluster): RolloutCluster => this.#describe({ stores }, one);
    return findEarlierCluster({ cluster: describe(cluster), others: others.map(describe), ...rules });
  }

  /** The same, and the cluster has its turn if nothing comes first. */
  take(sources: TurnStores, request: TurnRequest): string | undefined {
    const earlier = this.findEarlier(sources, request);
    if (earlier !== undefined) return earlier;
    const { profile } = request.cluster.spec;
    const taken = this.#taken.get(profile) ?? new Set();
    this.#taken.set(profile, taken.add(clusterIdentityKey(clusterIdentityOf(request.cluster))));
    return undefined;
  }

  /** The change did not begin, or the caches show that it did. */
  giveBack(cluster: Cluster): void {
    this.#taken.get(cluster.spec.profile)?.delete(clusterIdentityKey(clusterIdentityOf(cluster)));
  }

  close(): void {}

  #describe({ stores }: TurnStores, cluster: Cluster): RolloutCluster {
    const { namespace = '', name } = cluster.metadata;
    const identity = clusterIdentityOf(cluster);
    const machines = machinesOf({ stores }, identity);
    const isPaused = readRolloutRequest(cluster) === 'pause';
    const isInProgress = machines.some(isInHand);
    if (isInProgress) this.giveBack(cluster);
    const isTaken = this.#taken.get(cluster.spec.profile)?.has(clusterIdentityKey(identity)) ?? false;
    return {
      name: `${namespace}/${name}`,
      namespace,
      clusterConfigs: (cluster.spec.clusterConfigs ?? []).map((reference) => reference.name),
      rollout: readClusterRollout(cluster),
      isChanging: isInProgress || (isTaken && machines.some(isWaiting)),
      isWaiting: !isPaused && machines.some(isWaiting),
      failed: machines.find(hasFailed)?.metadata.name,
    };
  }
}

const machinesOf = ({ stores }: TurnStores, identity: ClusterIdentity): readonly Machine[] =>
  stores.machines.by('cluster', clusterIdentityKey(identity));

export const rolloutTurnsOf = ({ connections }: Pick<Services, 'connections'>): RolloutTurns =>
  connections.get('rollout-turns', () => new RolloutTurns());
