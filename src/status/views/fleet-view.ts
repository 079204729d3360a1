import { isConditionTrue } from '../../api/conditions.ts';
import type { Host } from '../../api/host.ts';
import { readBackupRecord } from '../../controllers/backup/backup-record.ts';
import { readClusterRollout } from '../../controllers/rollout/policy/cluster-rollout.ts';
import { readRolloutRequest } from '../../controllers/rollout/policy/rollout-hold.ts';
import type { HostState } from '../../engine/host.ts';
import {
  type BackupsJson,
  type ClusterHealth,
  type ClusterRowJson,
  type ConfigRolloutJson,
  clusterHealths,
  type FleetJson,
  type HostsJson,
} from '../api-types.ts';
import { listAddressPools } from './address-pools.ts';
import { listClusterRows } from './cluster-rows.ts';
import { type FleetObjects, findFleetObjects, type StatusSources } from './status-sources.ts';

/** Numbers of entries that are shown; the numbers beside them count all. */
const maxProblems = 20;
const maxRollouts = 50;

/** The whole fleet. Its size does not grow with the number of Clusters. */
export function buildFleetJson(sources: StatusSources): FleetJson {
  const objects = findFleetObjects(sources);
  const { machines } = objects;
  const rows = listClusterRows(objects);
  const hosts = countHosts(sources.stores.hosts.list());
  return {
    provider: sources.provider,
    isLeader: sources.isLeader,
    isComplete: sources.isComplete,
    clusters: { total: rows.length, byHealth: countByHealth(rows) },
    machines: {
      total: machines.length,
      ready: machines.filter(({ status }) => isConditionTrue(status?.conditions, 'Ready')).length,
    },
    problems: firstProblems(rows),
    rollouts: { changingClusters: countChangingClusters(objects), configs: listConfigRollouts(objects) },
    backups: summarizeBackups(objects),
    ...(hosts ? { hosts } : {}),
    addressPools: listAddressPools(sources),
    systems: sources.measurements.systems,
  };
}

function firstProblems(rows: readonly ClusterRowJson[]): FleetJson['problems'] {
  const problems = rows.filter(({ isProblem }) => isProblem);
  return { total: problems.length, first: problems.slice(0, maxProblems) };
}

const countByHealth = (rows: readonly ClusterRowJson[]): Record<ClusterHealth, number> =>
  Object.fromEntries(
    clusterHealths.map((health) => [health, rows.filter((row) => row.health === health).length]),
  ) as Record<ClusterHealth, number>;

const countChangingClusters = ({ clusters }: FleetObjects): number =>
  clusters.filter((cluster) => readClusterRollout(cluster)?.state === 'Changing').length;

/** Rollouts that are not finished; failed ones first. */
export function listConfigRollouts({ configs }: Pick<FleetObjects, 'configs'>): ConfigRolloutJson[] {
  const rollouts = configs.flatMap((config): ConfigRolloutJson[] => {
    const { rollout } = config.status ?? {};
    if (!rollout || (rollout.updated >= rollout.total && rollout.failed === 0)) return [];
    const { total, updated, updating, failed } = rollout;
    const isPaused = readRolloutRequest(config) === 'pause';
    return [{ config: config.metadata.name, total, updated, updating, failed, isPaused }];
  });
  return rollouts.sort((a, b) => b.failed - a.failed || (a.config < b.config ? -1 : 1)).slice(0, maxRollouts);
}

function summarizeBackups({ clusters: all, byProfile }: FleetObjects): BackupsJson {
  const clusters = all.filter(({ spec }) => byProfile.get(spec.profile)?.spec.backup);
  let failing = 0;
  let oldest: BackupsJson['oldest'];
  for (const cluster of clusters) {
    const { lastSuccess, failures } = readBackupRecord(cluster);
    if (failures > 0) failing += 1;
    const { namespace = '', name, creationTimestamp, deletionTimestamp } = cluster.metadata;
    const since = lastSuccess?.toISOString() ?? creationTimestamp;
    if (since === undefined || deletionTimestamp) continue;
    if (!oldest || Date.parse(since) < Date.parse(oldest.since))
      oldest = { namespace, name, since, isMissing: lastSuccess === undefined };
  }
  return { scheduled: clusters.length, failing, ...(oldest ? { oldest } : {}) };
}

/** States in which a Machine holds the server, or it is being prepared for the next one. */
const usedStates: ReadonlySet<HostState | undefined> = new Set(['Claimed', 'Provisioned', 'Deprovisioning']);

/** Undefined: there is no Host. */
export function countHosts(hosts: readonly Host[]): HostsJson | undefined {
  const states = hosts.map(({ status }) => status?.state);
  if (states.length === 0) return undefined;
  return {
    total: states.length,
    free: states.filter((state) => state === 'Available').length,
    inUse: states.filter((state) => usedStates.has(state)).length,
    failed: states.filter((state) => state === 'Failed').length,
  };
}
