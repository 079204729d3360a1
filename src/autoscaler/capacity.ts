import { hostsOfPlatform } from '../api/host.ts';
import type { Machine } from '../api/machine.ts';
import { rejectionReasonOf } from '../controllers/host/filter-hosts.ts';
import { addressHolder } from '../controllers/shared/addresses/address-leases.ts';
import { reservedAddresses } from '../controllers/shared/addresses/fixed-endpoints.ts';
import type { Services } from '../controllers/shared/services.ts';
import { listIpAddresses, parseIpRange } from '../lib/net/ip.ts';
import { describeInstance } from './instances.ts';
import { isToBeDeleted, type ScalablePool } from './node-groups.ts';

/** How many more nodes than now a pool can be given. */
export interface Capacity {
  readonly more: number;
  /** What limits it, as a sentence with the remedy. */
  readonly reason: string;
}

/**
 * The least of all limits that are known without asking a platform: `maxReplicas`, free Hosts, free addresses, and a
 * Machine of the pool that waits for memory, disk space or any other thing that its platform does not have.
 */
export function findCapacity(services: Services, pool: ScalablePool, held: HeldAddresses | undefined): Capacity {
  const { limits, target, workers } = pool;
  const limit: Capacity = {
    more: limits.max - target,
    reason: `maxReplicas of the worker pool ${workers.name} is ${limits.max}. Raise it in the ProviderConfig or ClusterConfig.`,
  };
  const all = [limit, findShortage(pool), countHosts(services, pool), held && countAddresses(services, pool, held)];
  return all.reduce<Capacity>((least, one) => (one && one.more < least.more ? one : least), limit);
}

/** A Machine that waits shows that another one would wait, too. */
function findShortage({ nodePool, machines, platform: { platform } }: ScalablePool): Capacity | undefined {
  const waiting = machines
    .map((machine) => ({ machine, instance: describeInstance(platform, machine, isToBeDeleted(nodePool, machine)) }))
    .find(({ instance }) => instance.error?.class === 'out-of-resources');
  if (!waiting) return undefined;
  return { more: 0, reason: `${waiting.machine.metadata.name} waits: ${waiting.instance.error?.message}` };
}

function countHosts({ stores }: Services, pool: ScalablePool): Capacity | undefined {
  const { platform, config } = pool.platform;
  const { hosts: inventory } = platform;
  if (!inventory) return undefined;
  const { size } = pool.workers;
  const hosts = hostsOfPlatform(stores.hosts.list(), platform.name);
  const node = { role: 'worker', size } as const;
  const free = hosts.filter(
    (host) => rejectionReasonOf(host, hosts, (view) => inventory.whyUnsuitable(config, view, node)) === undefined,
  ).length;
  const isHolder = ({ metadata }: Machine): boolean => stores.hosts.by('machine', metadata.uid ?? '').length > 0;
  return {
    more: Math.max(0, free - countOpen(pool, isHolder)),
    reason: `${free} Hosts of the size ${size} for workers are free. Add Hosts, or choose others in the size.`,
  };
}

/** The addresses that are claimed, with their holders. */
export type HeldAddresses = ReadonlyMap<string, string>;

/** Undefined: none of the pools needs addresses. */
export async function listHeldAddresses(
  { addresses }: Services,
  pools: readonly ScalablePool[],
  signal: AbortSignal,
): Promise<HeldAddresses | undefined> {
  return pools.some(needsAddresses) ? await addresses.list(signal) : undefined;
}

const needsAddresses = ({ platform, spec }: ScalablePool): boolean =>
  platform.section.addressing.pool !== 'none' && spec.network.addressPool !== undefined;

function countAddresses(services: Services, pool: ScalablePool, held: HeldAddresses): Capacity | undefined {
  const { addressPool = [] } = pool.spec.network;
  if (!needsAddresses(pool)) return undefined;
  const holders = new Set(held.values());
  const open = countOpen(pool, ({ metadata }) => holders.has(addressHolder.machine(metadata.name).text));
  const ranges = addressPool.map(parseIpRange).filter((range) => range !== undefined);
  const reserved = reservedAddresses(services);
  let free = 0;
  for (const address of listIpAddresses(ranges)) {
    if (!held.has(address) && !reserved.has(address)) free += 1;
    // More than that are never asked for.
    if (free >= open + pool.limits.max) break;
  }
  return {
    more: Math.max(0, free - open),
    reason: `${free} addresses of network.addressPool (${addressPool.join(', ')}) are free. Add addresses.`,
  };
}

/** Nodes that the pool is to have and that do not hold what they need yet. */
function countOpen({ nodePool, machines, target }: ScalablePool, holds: (machine: Machine) => boolean): number {
  const supplied = machines.filter((machine) => !isToBeDeleted(nodePool, machine) && holds(machine));
  return Math.max(0, target - supplied.length);
}
