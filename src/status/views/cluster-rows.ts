import { clusterIdentityKey } from '../../api/cluster-identity.ts';
import { isConditionTrue } from '../../api/conditions.ts';
import type { Machine } from '../../api/machine.ts';
import type { Cluster } from '../../api/openmcp/types.ts';
import { clusterIdentityOf, clusterOfMachine } from '../../controllers/cluster/identity.ts';
import { type ClusterHealth, type ClusterPageJson, type ClusterRowJson, clusterHealths } from '../api-types.ts';
import { assessCluster } from './cluster-health.ts';
import { type FleetObjects, findFleetObjects, type StatusSources, shorten } from './status-sources.ts';

/** Number of Clusters of one page. */
export const clustersPerPage = 50;

/** What a list of Clusters is limited to. */
export interface ClusterFilter {
  /** Part of the namespace, name or ProviderConfig; empty: all. */
  readonly text: string;
  readonly health: ClusterHealth | undefined;
  /** From 1. */
  readonly page: number;
}

/** All Clusters of the provider: problems first, then by name. */
export function listClusterRows({ clusters, machines, byProfile }: FleetObjects): readonly ClusterRowJson[] {
  const byCluster = groupMachines(machines);
  const rows = clusters.map((cluster) =>
    toClusterRow(cluster, byProfile.get(cluster.spec.profile)?.metadata.name, byCluster.get(keyOf(cluster)) ?? []),
  );
  return rows.sort((a, b) => rankOf(a) - rankOf(b) || compareNames(a, b));
}

/** One page of the Clusters that match. A page beyond the last one is the last one. */
export function buildClusterPage(sources: StatusSources, { text, health, page }: ClusterFilter): ClusterPageJson {
  const wanted = text.trim().toLowerCase();
  const matching = listClusterRows(findFleetObjects(sources)).filter(
    (row) =>
      (health === undefined || row.health === health) &&
      `${row.namespace}/${row.name} ${row.config}`.toLowerCase().includes(wanted),
  );
  const pages = Math.max(1, Math.ceil(matching.length / clustersPerPage));
  const current = Math.min(Math.max(1, page), pages);
  const clusters = matching.slice((current - 1) * clustersPerPage, current * clustersPerPage);
  return { total: matching.length, page: current, pages, clusters };
}

export function toClusterRow(
  cluster: Cluster,
  config: string | undefined,
  machines: readonly Machine[],
): ClusterRowJson {
  const { metadata, status } = cluster;
  const record = status?.providerStatus ?? {};
  const text = (key: string): string | undefined => {
    const value = record[key];
    return typeof value === 'string' ? shorten(value, 64) : undefined;
  };
  const [platform, kubernetesVersion, talosVersion] = [
    text('platform'),
    text('kubernetesVersion'),
    text('talosVersion'),
  ];
  return {
    namespace: metadata.namespace ?? '',
    name: metadata.name,
    ...assessCluster(cluster, machines),
    config: config ?? text('providerConfig') ?? '',
    ...(platform ? { platform } : {}),
    ...(kubernetesVersion ? { kubernetesVersion } : {}),
    ...(talosVersion ? { talosVersion } : {}),
    machines: machines.length,
    readyMachines: machines.filter((machine) => isConditionTrue(machine.status?.conditions, 'Ready')).length,
  };
}

const keyOf = (cluster: Cluster): string => clusterIdentityKey(clusterIdentityOf(cluster));

export function groupMachines(machines: readonly Machine[]): ReadonlyMap<string, readonly Machine[]> {
  const groups = new Map<string, Machine[]>();
  for (const machine of machines) {
    const key = clusterIdentityKey(clusterOfMachine(machine));
    const group = groups.get(key);
    if (group) group.push(machine);
    else groups.set(key, [machine]);
  }
  return groups;
}

const rankOf = ({ isProblem, health }: ClusterRowJson): number => (isProblem ? 0 : 10) + clusterHealths.indexOf(health);

const compareNames = (a: ClusterRowJson, b: ClusterRowJson): number => {
  const [one, other] = [`${a.namespace}/${a.name}`, `${b.namespace}/${b.name}`];
  return one < other ? -1 : one > other ? 1 : 0;
};
