import type { ClusterRollout } from './cluster-rollout.ts';
import { hasReached } from './cluster-rollout.ts';

/** A cluster of a ProviderConfig, as far as the turns of its rollout are concerned. */
export interface RolloutCluster {
  /** `namespace/name` */
  readonly name: string;
  readonly namespace: string;
  /** Names of its ClusterConfigs, in its namespace. */
  readonly clusterConfigs: readonly string[];
  readonly rollout: ClusterRollout | undefined;
  /** A Machine is being changed, or is about to be. */
  readonly isChanging: boolean;
  /** Machines wait, and no user holds them up. */
  readonly isWaiting: boolean;
  /** The Machine whose change has failed. */
  readonly failed?: string | undefined;
}

export interface TurnView {
  readonly cluster: RolloutCluster;
  readonly others: readonly RolloutCluster[];
  /** Hash of the ProviderConfig. */
  readonly revision: string;
  readonly maxClusters: number;
}

/**
 * Why another cluster of the ProviderConfig comes first; undefined if this one may change. The first cluster to change is
 * the canary: until one has gone through the change, only one changes. A failure stops the others, because the change may
 * do the same to them. What a user changes on a cluster that has followed its ProviderConfig already concerns that cluster
 * and those that share a ClusterConfig with it.
 */
export function findEarlierCluster({ cluster, others, revision, maxClusters }: TurnView): string | undefined {
  const isOwnMatter = (other: RolloutCluster): boolean =>
    hasReached(other.rollout, revision) && !shareClusterConfig(cluster, other);
  const failed = others.find((other) => other.failed !== undefined && !isOwnMatter(other));
  if (failed)
    return `Cluster ${failed.name} of the same ProviderConfig stopped at machine ${failed.failed}. Nothing is changed here until that is solved.`;
  const busy = others.filter((other) => isBusy(other, revision));
  const [first] = busy;
  if (!first) return undefined;
  if (!isProven([cluster, ...others], revision) && !hasReached(cluster.rollout, revision))
    return `Cluster ${first.name} of the same ProviderConfig is the first to change. Others follow when it has succeeded.`;
  if (busy.length < maxClusters) return undefined;
  // It names no cluster: with each that is done it would be another one, for every cluster that waits.
  return 'Other clusters of the same ProviderConfig are changed first. Its status.rollout shows how far they are.';
}

/** How many more clusters may begin to follow the ProviderConfig, apart from failures. */
export function countFreeTurns(
  all: readonly RolloutCluster[],
  { revision, maxClusters }: Pick<TurnView, 'revision' | 'maxClusters'>,
): number {
  const busy = all.filter((one) => isBusy(one, revision)).length;
  return Math.max(0, (isProven(all, revision) ? maxClusters : 1) - busy);
}

/** It holds a turn. */
const isBusy = ({ failed, isChanging, isWaiting, rollout }: RolloutCluster, revision: string): boolean =>
  failed === undefined && (isChanging || (isWaiting && rollout?.revision === revision && rollout.state === 'Changing'));

/** One has gone through the change. */
const isProven = (all: readonly RolloutCluster[], revision: string): boolean =>
  all.some(({ rollout }) => rollout?.revision === revision && rollout.state === 'Changed');

const shareClusterConfig = (one: RolloutCluster, other: RolloutCluster): boolean =>
  one.namespace === other.namespace && one.clusterConfigs.some((name) => other.clusterConfigs.includes(name));
