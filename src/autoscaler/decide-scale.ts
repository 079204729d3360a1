import { Code, ConnectError } from '@connectrpc/connect';
import type { Machine } from '../api/machine.ts';
import type { NodePool } from '../api/node-pool.ts';
import type { Capacity } from './capacity.ts';
import { findMachineOfNode, isToBeDeleted, type NamedNode, type ScalablePool } from './node-groups.ts';

/** The new number of nodes, and the Machines that are to be deleted. */
export interface PoolChange {
  readonly replicas: number;
  readonly machinesToDelete?: NonNullable<NodePool['spec']['machinesToDelete']>;
}

/** The pool as a message names it. */
export const nameOfPool = ({ nodePool }: ScalablePool): string => `NodePool ${nodePool.metadata.name}`;

export function decideIncrease(pool: ScalablePool, { more, reason }: Capacity, delta: number): PoolChange {
  if (delta <= 0) throw new ConnectError(`delta: ${delta} is not positive.`, Code.InvalidArgument);
  if (delta <= more) return { replicas: pool.target + delta };
  const message = `${nameOfPool(pool)} can have ${more} more nodes, not ${delta}: ${reason}`;
  throw new ConnectError(message, Code.ResourceExhausted);
}

export function decideDecrease(pool: ScalablePool, delta: number): PoolChange {
  if (delta >= 0) throw new ConnectError(`delta: ${delta} is not negative.`, Code.InvalidArgument);
  const { target, limits, machines, nodePool } = pool;
  const staying = machines.filter((machine) => !isToBeDeleted(nodePool, machine)).length;
  const lowest = Math.max(staying, limits.min);
  if (target + delta >= lowest) return { replicas: target + delta };
  const message = `${nameOfPool(pool)} cannot have less than ${lowest} nodes: it has ${staying} Machines, and minReplicas is ${limits.min}.`;
  throw new ConnectError(message, Code.FailedPrecondition);
}

/** Undefined: all of them were named before. */
export function decideDeletion(pool: ScalablePool, nodes: readonly NamedNode[]): PoolChange | undefined {
  const { machines, nodePool, target, limits, workers } = pool;
  const known = nodePool.spec.machinesToDelete ?? [];
  const chosen = new Set(nodes.flatMap((node) => requireMachine(pool, node) ?? []));
  const added = [...chosen].filter(({ metadata }) => !known.some(({ uid }) => uid === metadata.uid));
  if (added.length === 0) return undefined;
  const replicas = target - added.length;
  if (replicas < limits.min)
    throw new ConnectError(
      `${nameOfPool(pool)} would have ${replicas} nodes, and minReplicas of the worker pool ${workers.name} is ${limits.min}. Lower it to allow this.`,
      Code.FailedPrecondition,
    );
  const present = known.filter(({ uid }) => machines.some(({ metadata }) => metadata.uid === uid));
  const names = added.map(({ metadata: { uid = '', name } }) => ({ uid, name }));
  return { replicas, machinesToDelete: [...present, ...names] };
}

/** Undefined: the Machine was deleted by an earlier request and is gone. */
function requireMachine(pool: ScalablePool, node: NamedNode): Machine | undefined {
  const found = findMachineOfNode(pool, pool.machines, node);
  if (found) return found;
  if (pool.nodePool.spec.machinesToDelete?.some(({ name }) => name === node.name)) return undefined;
  throw new ConnectError(
    `${node.name} (${node.providerId}) is no node of ${nameOfPool(pool)}. Nothing was deleted.`,
    Code.InvalidArgument,
  );
}
