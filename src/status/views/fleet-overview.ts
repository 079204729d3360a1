import { clusterIdentityKey } from '../../api/cluster-identity.ts';
import type { Host } from '../../api/host.ts';
import type { Machine } from '../../api/machine.ts';
import { isProviderFinalizer } from '../../api/names.ts';
import type { Cluster } from '../../api/openmcp/types.ts';
import type { ProviderConfig } from '../../api/provider-config.ts';
import { clusterIdentityOf } from '../../controllers/cluster/identity.ts';
import type { ClusterBackupJson, ClusterRowJson, ConfigRolloutJson, HostsJson } from '../api-types.ts';
import { findHealthStart } from './cluster-health.ts';
import { groupMachines, listClusterRows } from './cluster-rows.ts';
import { toClusterBackup } from './cluster-view.ts';
import { countHosts, listConfigRollouts } from './fleet-view.ts';

/** The objects of a platform cluster, of every provider with our kinds. */
export interface FleetLists {
  /** Also those of other providers. */
  readonly clusters: readonly Cluster[];
  readonly machines: readonly Machine[];
  readonly configs: readonly ProviderConfig[];
  readonly hosts: readonly Host[];
}

export interface OverviewRowJson extends ClusterRowJson {
  /** Since when it has its health, as far as a condition tells. */
  readonly since?: string;
  /** Absent: it is not known yet. */
  readonly upToDate?: boolean;
  /** Machines that wait for a change, or are being changed. */
  readonly pendingMachines: number;
  /** Absent: no backup is scheduled, and there is none. */
  readonly backup?: ClusterBackupJson;
}

export interface OverviewJson {
  /** Problems first, then by name. */
  readonly clusters: readonly OverviewRowJson[];
  /** Rollouts that are not finished. */
  readonly rollouts: readonly ConfigRolloutJson[];
  /** Absent: there is no Host. */
  readonly hosts?: HostsJson;
}

/** Every Cluster with its state, without the caches of a provider. */
export function buildOverview({ clusters: all, machines, configs, hosts }: FleetLists): OverviewJson {
  const byCluster = groupMachines(machines);
  const machinesOf = (cluster: Cluster) => byCluster.get(clusterIdentityKey(clusterIdentityOf(cluster))) ?? [];
  const byProfile = new Map(
    all.flatMap(({ spec }) => {
      const config = findConfig(configs, spec.profile);
      return config ? [[spec.profile, config] as const] : [];
    }),
  );
  const clusters = all.filter((one) => byProfile.has(one.spec.profile) || isHeld(one) || machinesOf(one).length > 0);
  const byName = new Map(clusters.map((cluster) => [nameOf(cluster.metadata), cluster]));
  const rows = listClusterRows({ clusters, machines, configs, byProfile }).flatMap((row): OverviewRowJson[] => {
    const cluster = byName.get(nameOf(row));
    return cluster ? [toRow(row, cluster, machinesOf(cluster), byProfile.get(cluster.spec.profile))] : [];
  });
  const counts = countHosts(hosts);
  return { clusters: rows, rollouts: listConfigRollouts({ configs }), ...(counts ? { hosts: counts } : {}) };
}

const nameOf = ({ namespace = '', name }: { readonly namespace?: string; readonly name: string }): string =>
  `${namespace}/${name}`;

/** A provider of ours has reconciled it, although its ProviderConfig does not exist any more. */
const isHeld = ({ metadata }: Cluster): boolean => metadata.finalizers?.some(isProviderFinalizer) ?? false;

/** The ProviderConfig behind a profile, which is named `<environment>.<provider>.<ProviderConfig>`. */
export function findConfig(configs: readonly ProviderConfig[], profile: string): ProviderConfig | undefined {
  const suffixOf = ({ metadata, spec }: ProviderConfig): string => `.${spec.providerRef.name}.${metadata.name}`;
  const matching = configs.filter((config) => profile.endsWith(suffixOf(config)));
  // Names may have dots: the longest one that fits leaves only the environment.
  return matching.toSorted((a, b) => suffixOf(b).length - suffixOf(a).length)[0];
}

function toRow(
  row: ClusterRowJson,
  cluster: Cluster,
  machines: readonly Machine[],
  config: ProviderConfig | undefined,
): OverviewRowJson {
  const conditions = cluster.status?.conditions ?? [];
  const since = findHealthStart(cluster, row.cause);
  const upToDate = conditions.find(({ type }) => type === 'UpToDate')?.status;
  const backup = toClusterBackup(cluster, config?.spec.backup !== undefined);
  return {
    ...row,
    pendingMachines: machines.filter(({ status }) => status?.pending !== undefined).length,
    ...(since ? { since } : {}),
    ...(upToDate === 'True' || upToDate === 'False' ? { upToDate: upToDate === 'True' } : {}),
    ...(backup ? { backup } : {}),
  };
}
