import {
  type Condition,
  type ConditionType,
  findFalseCondition,
  isConditionTrue,
} from '../../../src/api/conditions.ts';
import { Host } from '../../../src/api/host.ts';
import type { Machine } from '../../../src/api/machine.ts';
import type { NodePool } from '../../../src/api/node-pool.ts';
import { AccessRequest, Cluster } from '../../../src/api/openmcp/types.ts';
import { ProviderConfig } from '../../../src/api/provider-config.ts';
import type { Fleet } from './fleet.ts';
import type { PlannedCluster } from './fleet-layout.ts';

type Status = { readonly conditions?: readonly Condition[] };
const messageOf = (status: Status | undefined, type: ConditionType): string =>
  findFalseCondition(status?.conditions, type)?.message ?? `${type} is not True`;

/** What keeps the fleet from being settled, one line for each. Empty: every cluster is as it is wanted, and serves. */
export async function listUnsettled(fleet: Fleet): Promise<string[]> {
  const { platform } = fleet.testbed;
  const [machines, pools, clusters, requests, configs, hosts] = await Promise.all([
    fleet.machines(),
    fleet.pools(),
    platform.list(Cluster),
    platform.list(AccessRequest),
    platform.list(ProviderConfig),
    platform.list(Host),
  ]);
  const found: string[] = [];
  for (const planned of fleet.layout.clusters) {
    const cluster = clusters.items.find(({ metadata }) => metadata.name === planned.name);
    const own = machines.filter(({ spec }) => spec.clusterRef.name === planned.name);
    found.push(...describeCluster(cluster, planned.name), ...describeCounts(planned, own, pools));
  }
  for (const machine of machines) found.push(...describeMachine(fleet, machine));
  for (const { metadata, status } of requests.items)
    if (status?.phase !== 'Granted') found.push(`AccessRequest ${metadata.name}: ${messageOf(status, 'Ready')}`);
  for (const { metadata, status } of configs.items) {
    const isCurrent = status?.phase === 'Ready' && status.observedGeneration === metadata.generation;
    if (!isCurrent) found.push(`ProviderConfig ${metadata.name}: ${messageOf(status, 'Ready')}`);
  }
  for (const { metadata, status } of hosts.items)
    if (status?.state !== 'Available' && status?.state !== 'Provisioned')
      found.push(`${metadata.name} is ${status?.state}: ${messageOf(status, 'Ready')}`);
  return found;
}

function describeCluster(cluster: Cluster | undefined, name: string): string[] {
  const { status, metadata } = cluster ?? {};
  if (status?.phase !== 'Ready' || status.observedGeneration !== metadata?.generation)
    return [`Cluster ${name}: ${messageOf(status, 'Ready')}`];
  return (['UpToDate', 'NodesHealthy'] as const)
    .filter((type) => !isConditionTrue(status.conditions, type))
    .map((type) => `Cluster ${name}: ${messageOf(status, type)}`);
}

function describeCounts({ name, controlPlanes }: PlannedCluster, machines: Machine[], pools: NodePool[]): string[] {
  const pool = pools.find(({ spec }) => spec.clusterRef.name === name);
  const count = (role: string): number => machines.filter(({ spec }) => spec.role === role).length;
  const [servers, workers] = [count('controlplane'), count('worker')];
  if (servers === controlPlanes && workers === pool?.spec.replicas && pool.status?.readyReplicas === workers) return [];
  return [
    `${name} has ${servers} control planes and ${workers} workers, and is to have ${pool?.spec.replicas} workers`,
  ];
}

function describeMachine(fleet: Fleet, { metadata, spec, status }: Machine): string[] {
  if (metadata.deletionTimestamp !== undefined) return [`${metadata.name} is being deleted: ${status?.message}`];
  if (spec.remediation !== undefined) return [`${metadata.name} is being remediated`];
  for (const type of ['Ready', 'UpToDate'] as const)
    if (!isConditionTrue(status?.conditions, type)) return [`${metadata.name}: ${messageOf(status, type)}`];
  // What the provider knows may be older than what has happened.
  const node = fleet.nodeOf(metadata.name);
  if (node?.ready && node.registered) return [];
  return [`the node ${metadata.name} is ${node?.stage ?? 'off'}, and the provider does not know it yet`];
}
