import type { NodePool } from '../../../api/node-pool.ts';
import type { WorkerPool } from '../../../api/provider-config-spec.ts';

/** Between which numbers of nodes a NodePool can be scaled. */
export interface ReplicaLimits {
  readonly min: number;
  readonly max: number;
}

/** Undefined: the number of nodes is that of the worker pool, and a NodePool cannot be scaled. */
export function replicaLimitsOf({ replicas, minReplicas, maxReplicas }: WorkerPool): ReplicaLimits | undefined {
  if (minReplicas === undefined && maxReplicas === undefined) return undefined;
  return { min: minReplicas ?? replicas, max: maxReplicas ?? replicas };
}

/**
 * The number of nodes that a worker pool is to have. `present`: how many Machines it has, without those in deletion. They
 * count for a pool whose NodePool was deleted: its successor must not change their number.
 */
export function decideReplicas(pool: WorkerPool, nodePool: NodePool | undefined, present: number): number {
  const limits = replicaLimitsOf(pool);
  if (!limits) return pool.replicas;
  const wanted = nodePool?.spec.replicas ?? (present > 0 ? present : pool.replicas);
  return Math.min(Math.max(wanted, limits.min), limits.max);
}
