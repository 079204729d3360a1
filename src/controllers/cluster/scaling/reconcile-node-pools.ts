import { clusterId, labels } from '../../../api/names.ts';
import { NodePool } from '../../../api/node-pool.ts';
import type { WorkerPool } from '../../../api/provider-config-spec.ts';
import { isNotFound } from '../../../kube/errors.ts';
import { patchStatusIfExists } from '../../shared/objects.ts';
import type { Services } from '../../shared/services.ts';
import { isOwnOfCluster } from '../identity.ts';
import type { ClusterView } from '../view.ts';
import { comparePoolsOf } from './cluster-pools.ts';
import { describeNodePoolStatus } from './describe-node-pool.ts';
import type { PoolBalance } from './machine-slots.ts';
import { replicaLimitsOf } from './pool-replicas.ts';

/**
 * Writes the status of the NodePools of a Cluster, resets `spec.replicas` where it must not be changed, and deletes the
 * NodePools of worker pools that were removed, after their last Machine.
 */
export async function reconcileNodePools(services: Services, view: ClusterView, signal: AbortSignal): Promise<void> {
  if (!view.spec) return;
  const balances = comparePoolsOf(view);
  for (const nodePool of view.nodePools) {
    const pool = view.spec.workerPools.find(({ name }) => name === nodePool.spec.pool);
    const balance = balances.find((one) => one.pool === nodePool.spec.pool);
    if (!balance) await deleteNodePool(services, nodePool, signal);
    else await updateNodePool(services, nodePool, { pool, balance }, signal);
  }
}

/** A NodePool and what it stands for. The worker pool is undefined if it was removed and has Machines left. */
interface NodePoolState {
  readonly pool: WorkerPool | undefined;
  readonly balance: PoolBalance;
}

async function updateNodePool(
  services: Services,
  nodePool: NodePool,
  { pool, balance }: NodePoolState,
  signal: AbortSignal,
): Promise<void> {
  const { kube, clock } = services;
  try {
    const current = pool ? await resetReplicas(services, nodePool, pool, signal) : nodePool;
    const status = describeNodePoolStatus(current, pool, balance, clock.now());
    await patchStatusIfExists(kube, NodePool, current, status, signal);
  } catch (error) {
    // The NodePool was deleted meanwhile. It is created again.
    if (!isNotFound(error)) throw error;
  }
}

/** Without limits the worker pool alone says how many nodes there are. */
async function resetReplicas(
  { kube, events }: Services,
  nodePool: NodePool,
  pool: WorkerPool,
  signal: AbortSignal,
): Promise<NodePool> {
  const { spec, status, metadata } = nodePool;
  if (replicaLimitsOf(pool) || spec.replicas === pool.replicas) return nodePool;
  // Otherwise the worker pool was changed.
  const isChangedByOthers = status?.desiredReplicas !== undefined && spec.replicas !== status.desiredReplicas;
  if (isChangedByOthers) {
    const message = `spec.replicas was set back from ${spec.replicas} to ${pool.replicas}: it follows replicas of the worker pool ${pool.name}. Change it in the ProviderConfig or ClusterConfig, or set minReplicas and maxReplicas there to scale this NodePool.`;
    events.record(nodePool, 'Warning', 'ReplicasReset', message);
  }
  return await kube.merge(NodePool, { name: metadata.name }, { spec: { replicas: pool.replicas } }, {}, signal);
}

export async function deleteNodePool({ kube }: Services, { metadata }: NodePool, signal: AbortSignal): Promise<void> {
  if (metadata.deletionTimestamp) return;
  const { name, uid } = metadata;
  try {
    await kube.remove(NodePool, { name }, uid === undefined ? {} : { uid }, signal);
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
}

/** Deletes the NodePools of a Cluster that is being deleted. The cache may lack some that were just created. */
export async function deleteNodePools(services: Services, ref: ClusterView['ref'], signal: AbortSignal): Promise<void> {
  const { items } = await services.kube.list(
    NodePool,
    { labelSelector: `${labels.cluster}=${clusterId(ref)}` },
    signal,
  );
  const own = items.filter((one) => isOwnOfCluster(services, one, ref));
  for (const nodePool of own) await deleteNodePool(services, nodePool, signal);
}
