import { clusterIdentityKey } from '../../api/cluster-identity.ts';
import { type AccessRequest, type Cluster, externalEndpointUrl } from '../../api/openmcp/types.ts';
import { readBackupRecord } from '../../controllers/backup/backup-record.ts';
import { isOwnCluster } from '../../controllers/cluster/cluster-responsibility.ts';
import { clusterIdentityOf, isOwnMachine } from '../../controllers/cluster/identity.ts';
import { compareMachines } from '../../controllers/cluster/view.ts';
import { readTrustReport } from '../../controllers/rollout/oidc-trust/trust-report.ts';
import { readClusterRollout } from '../../controllers/rollout/policy/cluster-rollout.ts';
import { readRolloutRequest } from '../../controllers/rollout/policy/rollout-hold.ts';
import type { AccessJson, ClusterBackupJson, ClusterJson, EventJson, TrustJson } from '../api-types.ts';
import { toCause } from './cluster-health.ts';
import { toClusterRow } from './cluster-rows.ts';
import { toConditions, toMachineRow } from './machine-view.ts';
import { configsByProfile, type StatusSources, shorten } from './status-sources.ts';

/** Numbers of entries that are shown. Machines that are not ready come first. */
const maxMachines = 200;
const maxAccess = 50;
const maxTrustRequests = 50;

/** The Cluster of this provider with this name. */
export function findOwnCluster(sources: StatusSources, namespace: string, name: string): Cluster | undefined {
  const cluster = sources.stores.clusters.get({ namespace, name });
  return cluster && isOwnCluster(sources, cluster) ? cluster : undefined;
}

/** A cluster with its machines. `machines` counts all of them. */
export function buildClusterJson(sources: StatusSources, cluster: Cluster, events: readonly EventJson[]): ClusterJson {
  const config = configsByProfile(sources).get(cluster.spec.profile);
  const machines = machinesOf(sources, cluster);
  const rows = machines.map((machine) => toMachineRow(sources, machine));
  const requests = sources.stores.accessRequests.by(
    'cluster',
    `${cluster.metadata.namespace}/${cluster.metadata.name}`,
  );
  const { creationTimestamp: createdAt } = cluster.metadata;
  const endpoint = externalEndpointUrl(cluster) ?? cluster.status?.apiServer;
  const rollout = readClusterRollout(cluster);
  const isPaused = [cluster, config].some((object) => readRolloutRequest(object) === 'pause');
  const pendingMachines = rows.filter(({ pending }) => pending !== undefined).length;
  const trust = describeTrust(cluster);
  const backup = toClusterBackup(cluster, config?.spec.backup !== undefined);
  return {
    ...toClusterRow(cluster, config?.metadata.name, machines),
    ...(createdAt ? { createdAt } : {}),
    ...(endpoint ? { endpoint } : {}),
    profile: cluster.spec.profile,
    conditions: toConditions(cluster.status?.conditions),
    ...(rollout ? { rollout: { state: rollout.state, pendingMachines, isPaused } } : {}),
    ...(trust ? { trust } : {}),
    ...(backup ? { backup } : {}),
    machineList: [...rows.filter(({ isReady }) => !isReady), ...rows.filter(({ isReady }) => isReady)].slice(
      0,
      maxMachines,
    ),
    access: { total: requests.length, first: requests.slice(0, maxAccess).map(toAccess) },
    events,
  };
}

const machinesOf = (sources: StatusSources, cluster: Cluster) =>
  sources.stores.machines
    .by('cluster', clusterIdentityKey(clusterIdentityOf(cluster)))
    .filter(({ spec }) => isOwnMachine(sources, spec))
    .toSorted(compareMachines);

function describeTrust(cluster: Cluster): TrustJson | undefined {
  const report = readTrustReport(cluster);
  if (!report) return undefined;
  const requests = report.requests.slice(0, maxTrustRequests).map(({ request, state, message }) => ({
    request,
    state,
    ...(message ? { message: shorten(message) } : {}),
  }));
  const { updated, total, message } = report;
  return { updated, total, requests, ...(message ? { message: shorten(message) } : {}) };
}

export function toClusterBackup(cluster: Cluster, isScheduled: boolean): ClusterBackupJson | undefined {
  const { lastSuccess, lastAttempt, failures, message, bytes } = readBackupRecord(cluster);
  if (!isScheduled && !lastSuccess) return undefined;
  return {
    failures,
    ...(lastSuccess ? { lastSuccess: lastSuccess.toISOString() } : {}),
    ...(lastAttempt ? { lastAttempt: lastAttempt.toISOString() } : {}),
    ...(message ? { message: shorten(message) } : {}),
    ...(bytes === undefined ? {} : { bytes }),
  };
}

/** Neither the Secret of the access nor anything of it is named. */
function toAccess({ metadata, spec, status }: AccessRequest): AccessJson {
  const cause = toCause(status?.conditions?.find(({ type, status: state }) => type === 'Ready' && state !== 'True'));
  return {
    namespace: metadata.namespace ?? '',
    name: metadata.name,
    kind: spec.token ? 'token' : spec.oidc ? 'oidc' : 'none',
    phase: status?.phase ?? '',
    ...(spec.oidc ? { issuer: shorten(spec.oidc.issuer, 256) } : {}),
    ...(cause ? { cause } : {}),
  };
}
