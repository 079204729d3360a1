import { Code, ConnectError } from '@connectrpc/connect';
import { Machine } from '../api/machine.ts';
import { clusterId, labels } from '../api/names.ts';
import { NodePool } from '../api/node-pool.ts';
import { clusterIdentityOf, isOwnOfCluster } from '../controllers/cluster/identity.ts';
import type { Services } from '../controllers/shared/services.ts';
import { isConflict, isNotFound } from '../kube/errors.ts';
import { findCapacity, listHeldAddresses } from './capacity.ts';
import { decideDecrease, decideDeletion, decideIncrease, nameOfPool, type PoolChange } from './decide-scale.ts';
import { type NamedNode, type ScalablePool, targetSizeOf } from './node-groups.ts';

/** Users and the Cluster controller write NodePools, too. */
const maxWriteAttempts = 5;

/** Adds nodes, as far as there is what they need. */
export async function increaseSize(
  services: Services,
  pool: ScalablePool,
  delta: number,
  signal: AbortSignal,
): Promise<void> {
  const held = await listHeldAddresses(services, [pool], signal);
  await changePool(services, pool, signal, (current) =>
    decideIncrease(current, findCapacity(services, current, held), delta),
  );
}

/** Takes back nodes that were asked for and have no Machine yet. No Machine is deleted. */
export const decreaseTargetSize = (
  services: Services,
  pool: ScalablePool,
  delta: number,
  signal: AbortSignal,
): Promise<void> => changePool(services, pool, signal, (current) => decideDecrease(current, delta));

/**
 * Deletes exactly these nodes. Which ones, and the number that is lower by them, are one conditional write, so that a
 * repetition, after whatever failure, lowers the number once for each Machine.
 */
export const deleteNodes = (
  services: Services,
  pool: ScalablePool,
  nodes: readonly NamedNode[],
  signal: AbortSignal,
): Promise<void> => changePool(services, pool, signal, (current) => decideDeletion(current, nodes));

/** Decides on what the API server has now, and writes it unless it has changed meanwhile. */
async function changePool(
  services: Services,
  pool: ScalablePool,
  signal: AbortSignal,
  decide: (current: ScalablePool) => PoolChange | undefined,
): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    const current = await readCurrent(services, pool, signal);
    const change = decide(current);
    if (!change) return;
    try {
      await write(services, current, change, signal);
      return;
    } catch (error) {
      if (!isConflict(error) || attempt === maxWriteAttempts) throw error;
    }
  }
}

/** Machines after the NodePool: what is written is refused if the NodePool has changed since it was read. */
async function readCurrent(services: Services, pool: ScalablePool, signal: AbortSignal): Promise<ScalablePool> {
  const ref = clusterIdentityOf(pool.cluster);
  const isOurs = (one: Machine | NodePool): boolean => isOwnOfCluster(services, one, ref);
  const nodePool = await readNodePool(services, pool, signal);
  if (!isOurs(nodePool)) throw new ConnectError(`${nameOfPool(pool)} belongs to another Cluster.`, Code.NotFound);
  const labelSelector = `${labels.cluster}=${clusterId(ref)},${labels.pool}=${pool.workers.name}`;
  const { items } = await services.kube.list(Machine, { labelSelector }, signal);
  const machines = items.filter((one) => isOurs(one) && one.spec.pool === pool.workers.name);
  return { ...pool, nodePool, machines, target: targetSizeOf(pool.workers, nodePool, machines) };
}

async function readNodePool({ kube }: Services, pool: ScalablePool, signal: AbortSignal): Promise<NodePool> {
  try {
    return await kube.get(NodePool, { name: pool.nodePool.metadata.name }, signal);
  } catch (error) {
    if (isNotFound(error)) throw new ConnectError(`${nameOfPool(pool)} does not exist any more.`, Code.NotFound);
    throw error;
  }
}

async function write(
  { kube, events, log }: Services,
  { nodePool, target }: ScalablePool,
  change: PoolChange,
  signal: AbortSignal,
): Promise<void> {
  const { name, resourceVersion } = nodePool.metadata;
  if (resourceVersion === undefined) throw new ConnectError(`NodePool ${name} has no version.`, Code.Internal);
  await kube.merge(NodePool, { name }, { spec: change }, { resourceVersion }, signal);
  const chosen = change.machinesToDelete?.map((one) => one.name).join(', ');
  const which = chosen === undefined ? '' : ` To be deleted: ${chosen}.`;
  const message = `The autoscaler changed spec.replicas from ${target} to ${change.replicas}.${which}`;
  events.record(nodePool, 'Normal', 'Autoscaled', message.slice(0, 1000));
  log.info({ nodePool: name, from: target, to: change.replicas }, 'an autoscaler scales a pool');
}
