import { Code, ConnectError } from '@connectrpc/connect';
import { isSameCluster } from '../api/cluster-identity.ts';
import { Machine } from '../api/machine.ts';
import { clusterId, labels } from '../api/names.ts';
import { NodePool } from '../api/node-pool.ts';
import { clusterIdentityOf, clusterOfMachine, isOwnMachine } from '../controllers/cluster/identity.ts';
import type { Services } from '../controllers/shared/services.ts';
import { isConflict, isNotFound } from '../kube/errors.ts';
import { findCapacity, listHeldAddresses } from './capacity.ts';
import { findMachineOfNode, isToBeDeleted, type NamedNode, type ScalablePool, targetSizeOf } from './node-groups.ts';

/** The new number of nodes, and the Machines that are to be deleted. */
interface PoolChange {
  readonly replicas: number;
  readonly machinesToDelete?: NonNullable<NodePool['spec']['machinesToDelete']>;
}

/** Users and the Cluster controller write NodePools, too. */
const maxWriteAttempts = 5;

/** Adds nodes, as far as there is what they need. */
export async function increaseSize(
  services: Services,
  pool: ScalablePool,
  delta: number,
  signal: AbortSignal,
): Promise<void> {
  if (delta <= 0) throw new ConnectError(`delta: ${delta} is not positive.`, Code.InvalidArgument);
  const held = await listHeldAddresses(services, [pool], signal);
  await changePool(services, pool, signal, (current) => {
    const { more, reason } = findCapacity(services, current, held);
    if (delta <= more) return { replicas: current.target + delta };
    const message = `${nameOf(pool)} can have ${more} more nodes, not ${delta}: ${reason}`;
    throw new ConnectError(message, Code.ResourceExhausted);
  });
}

/** Takes back nodes that were asked for and have no Machine yet. No Machine is deleted. */
export async function decreaseTargetSize(
  services: Services,
  pool: ScalablePool,
  delta: number,
  signal: AbortSignal,
): Promise<void> {
  if (delta >= 0) throw new ConnectError(`delta: ${delta} is not negative.`, Code.InvalidArgument);
  await changePool(services, pool, signal, ({ target, limits, machines, nodePool }) => {
    const staying = machines.filter((machine) => !isToBeDeleted(nodePool, machine)).length;
    const lowest = Math.max(staying, limits.min);
    if (target + delta >= lowest) return { replicas: target + delta };
    const message = `${nameOf(pool)} cannot have less than ${lowest} nodes: it has ${staying} Machines, and minReplicas is ${limits.min}.`;
    throw new ConnectError(message, Code.FailedPrecondition);
  });
}

/**
 * Deletes exactly these nodes. Which ones, and the number that is lower by them, are one conditional write, so that a
 * repetition, after whatever failure, lowers the number once for each Machine.
 */
export async function deleteNodes(
  services: Services,
  pool: ScalablePool,
  nodes: readonly NamedNode[],
  signal: AbortSignal,
): Promise<void> {
  await changePool(services, pool, signal, (current) => {
    const { machines, nodePool, target, limits } = current;
    const known = nodePool.spec.machinesToDelete ?? [];
    const chosen = new Set(nodes.flatMap((node) => requireMachine(current, node) ?? []));
    const added = [...chosen].filter(({ metadata }) => !known.some(({ uid }) => uid === metadata.uid));
    if (added.length === 0) return undefined;
    const replicas = target - added.length;
    if (replicas < limits.min)
      throw new ConnectError(
        `${nameOf(pool)} would have ${replicas} nodes, and minReplicas of the worker pool ${pool.workers.name} is ${limits.min}. Lower it to allow this.`,
        Code.FailedPrecondition,
      );
    const present = known.filter(({ uid }) => machines.some(({ metadata }) => metadata.uid === uid));
    const names = added.map(({ metadata: { uid = '', name } }) => ({ uid, name }));
    return { replicas, machinesToDelete: [...present, ...names] };
  });
}

/** Undefined: the Machine was deleted by an earlier request and is gone. */
function requireMachine(current: ScalablePool, node: NamedNode): Machine | undefined {
  const found = findMachineOfNode(current, current.machines, node);
  if (found) return found;
  if (current.nodePool.spec.machinesToDelete?.some(({ name }) => name === node.name)) return undefined;
  throw new ConnectError(
    `${node.name} (${node.providerId}) is no node of ${nameOf(current)}. Nothing was deleted.`,
    Code.InvalidArgument,
  );
}

const nameOf = ({ nodePool }: ScalablePool): string => `NodePool ${nodePool.metadata.name}`;

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
  const isOurs = (one: Machine | NodePool): boolean =>
    isOwnMachine(services, one.spec) && isSameCluster(clusterOfMachine(one), ref);
  const nodePool = await readNodePool(services, pool, signal);
  if (!isOurs(nodePool)) throw new ConnectError(`${nameOf(pool)} belongs to another Cluster.`, Code.NotFound);
  const labelSelector = `${labels.cluster}=${clusterId(ref)},${labels.pool}=${pool.workers.name}`;
  const { items } = await services.kube.list(Machine, { labelSelector }, signal);
  const machines = items.filter((one) => isOurs(one) && one.spec.pool === pool.workers.name);
  return { ...pool, nodePool, machines, target: targetSizeOf(pool.workers, nodePool, machines) };
}

async function readNodePool({ kube }: Services, pool: ScalablePool, signal: AbortSignal): Promise<NodePool> {
  try {
    return await kube.get(NodePool, { name: pool.nodePool.metadata.name }, signal);
  } catch (error) {
    if (isNotFound(error)) throw new ConnectError(`${nameOf(pool)} does not exist any more.`, Code.NotFound);
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
