import type { ClusterIdentity } from '../../api/cluster-identity.ts';
import { type ConditionState, conditionFalse, mergeConditions, summarizeReady } from '../../api/conditions.ts';
import { Machine } from '../../api/machine.ts';
import {
  annotations,
  clusterProfileName,
  clusterSecretsName,
  instanceFinalizers,
  isHeldByOtherInstance,
  openmcpKeys,
} from '../../api/names.ts';
import { Cluster, endpointNames, openmcpPhases } from '../../api/openmcp/types.ts';
import type { ReconcileResult } from '../../kube/controller/controller.ts';
import { Secret } from '../../kube/core-types.ts';
import type { ObjectKey } from '../../kube/resource.ts';
import type { Log } from '../../lib/log.ts';
import { noTracer } from '../../lib/work-tracer.ts';
import { maintainEtcd } from '../etcd-maintenance/maintain-etcd.ts';
import { collectClusterOrphans } from '../garbage/cluster-orphans/collect-cluster-orphans.ts';
import { describeNodesHealthy } from '../remediation/describe-remediation.ts';
import { remediationRecordKey } from '../remediation/remediation-record.ts';
import { describeTrustReport, retainTrustReport } from '../rollout/oidc-trust/trust-report.ts';
import { clusterRolloutKey } from '../rollout/policy/cluster-rollout.ts';
import { isReportedElsewhere, keepClusterReports } from '../shared/cluster-report.ts';
import { consumeOperation, ensureFinalizer, patchStatusIfExists, removeFinalizer } from '../shared/objects.ts';
import { lowestTalosVersion } from '../shared/running-talos-version.ts';
import { clusterRecordKey, toClusterRecord } from '../shared/secrets/cluster-record.ts';
import type { Services } from '../shared/services.ts';
import { newestKnown } from '../shared/status-writes.ts';
import { actOnCluster, describeMetadataPatch } from './act.ts';
import { recordClusterEvents } from './cluster-events.ts';
import { isOwnCluster } from './cluster-responsibility.ts';
import { decideCluster, decideRequeueAfterSeconds, describeClusterConditions } from './decide.ts';
import { decideClusterRemediation } from './decide-cluster-remediation.ts';
import { describeClusterRollout, describeClusterUpToDate } from './decide-cluster-rollout.ts';
import { describeClusterRotation, describeRotationProgress } from './decide-cluster-rotation.ts';
import { servedVersion } from './decide-kubernetes.ts';
import { importedIdentityKey, isOwnOfCluster } from './identity.ts';
import { deleteMachine, reconcileMachineMetadata } from './machine-metadata.ts';
import { releaseEndpointAddress } from './release-endpoint-address.ts';
import { deleteNodePools, reconcileNodePools } from './scaling/reconcile-node-pools.ts';
import {
  assessSecretsOfCluster,
  buildClusterView,
  type ClusterView,
  clusterIdentityOf,
  machinesOfCluster,
  toSecretsView,
} from './view.ts';
import { accessNotRemoved, withdrawAccess } from './withdraw-access.ts';

const progressRequeueSeconds = 5;
/** While an adopted cluster does not answer that is to be released. */
const accessRetrySeconds = 15;

interface ClusterReconcileContext {
  readonly signal: AbortSignal;
  readonly log: Log;
  /** A user asks for this reconcile. */
  readonly isRequested?: boolean;
}

/** Reconciles a Cluster of this instance. Other Clusters cause no API calls. */
export async function reconcileCluster(
  services: Services,
  key: ObjectKey,
  context: ClusterReconcileContext,
): Promise<ReconcileResult> {
  const cached = services.stores.clusters.get(key);
  if (!cached) return await closeConnections(services, key);
  const found = newestKnown(services.kube, Cluster, cached);
  if (!isOwnCluster(services, found)) return warnIfHeldByAnother(services, found, context);
  const { operation, object: cluster } = await consumeOperation(services.kube, Cluster, found, context.signal);
  if (operation === 'ignore') return {};
  const finalizer = instanceFinalizers(services).cluster;
  const held = cluster.metadata.finalizers?.includes(finalizer) ?? false;
  if (!cluster.metadata.deletionTimestamp) {
    const ours = await ensureFinalizer(services.kube, Cluster, cluster, finalizer, context.signal);
    return ours ? await reconcileOwned(services, ours, { ...context, isRequested: operation === 'reconcile' }) : {};
  }
  if (!held) return {};
  // The controller that publishes the Cluster withdraws it as the last one, while the cluster is still served.
  const foreign = (cluster.metadata.finalizers ?? []).filter((name) => name !== finalizer);
  if (foreign.length > 0) return await reconcileOwned(services, cluster, context, foreign);
  return await releaseCluster(services, cluster, context);
}

/** Closes all connections of a Cluster that no longer exists. */
async function closeConnections(
  { nodes, targets }: Services,
  { namespace = '', name, uid }: ObjectKey & { readonly uid?: string },
): Promise<ReconcileResult> {
  const cluster = { namespace, name, ...(uid === undefined ? {} : { uid }) };
  await nodes.forget(cluster);
  await targets.forget(cluster);
  return {};
}

/**
 * Warns only about a Cluster that this instance would reconcile: an instance that was moved to another namespace no
 * longer owns its Clusters.
 */
function warnIfHeldByAnother(
  services: Services,
  { metadata, spec }: Cluster,
  { log }: ClusterReconcileContext,
): ReconcileResult {
  const { environment, provider } = services;
  const isNamed = spec.profile.startsWith(clusterProfileName(environment, provider, ''));
  if (isNamed && isHeldByOtherInstance(metadata.finalizers, instanceFinalizers(services).cluster)) {
    const { finalizers } = metadata;
    log.warn({ finalizers }, 'another instance of this provider manages the Cluster, which is ignored');
  }
  return {};
}

/** Executes decisions until nothing more can be done now, then writes the status. */
async function reconcileOwned(
  services: Services,
  cluster: Cluster,
  context: ClusterReconcileContext,
  foreign: readonly string[] = [],
): Promise<ReconcileResult> {
  let view = buildClusterView(services, cluster);
  for (let decision = decideCluster(view); decision.kind !== 'settled'; decision = decideCluster(view)) {
    const [current, action] = [view, decision];
    const act = async () => await actOnCluster(services, current, action, context);
    view = await (services.tracer ?? noTracer).action(clusterIdentityOf(cluster), decision.kind, act);
  }
  await reconcileMachineMetadata(services, view, context.signal);
  await reconcileNodePools(services, view, context.signal);
  const states = describeClusterConditions(view);
  if (foreign.length > 0)
    states.push(
      conditionFalse(
        'ForeignFinalizersGone',
        'WaitingForDeletion',
        `Still needed by ${describeHolders(services, foreign)}.`,
      ),
    );
  const etcd = await maintainEtcd(services, view, context);
  await publishStatus(services, view, { states, etcd: etcd.state }, context);
  // What a snapshot lacks is no orphan yet.
  const orphanSeconds = view.isRestoring
    ? Number.POSITIVE_INFINITY
    : await collectClusterOrphans(services, view, context);
  const isConnected = services.nodes.isConnected(view.ref);
  const now = services.clock.now();
  return {
    requeueAfterSeconds: Math.min(
      orphanSeconds,
      etcd.seconds,
      decideRequeueAfterSeconds(view, states, { isConnected, now }),
    ),
  };
}

const describeHolders = (services: Services, finalizers: readonly string[]): string =>
  finalizers
    .map((name) => (name === instanceFinalizers(services).publication ? 'its consumers: see Published' : name))
    .join(', ');

async function publishStatus(
  services: Services,
  view: ClusterView,
  { states, etcd }: { readonly states: readonly ConditionState[]; readonly etcd: ConditionState | undefined },
  context: ClusterReconcileContext,
): Promise<void> {
  const { cluster } = view;
  const generation = cluster.metadata.generation ?? 0;
  const ready = summarizeReady(states);
  const more = [describeClusterUpToDate(view), describeClusterRotation(view), etcd];
  const nodesHealthy = view.secrets?.bootstrappedAt
    ? describeNodesHealthy(view.machines, decideClusterRemediation(view), view.remediationObstacle)
    : undefined;
  const terminating = cluster.metadata.deletionTimestamp !== undefined;
  const version = servedVersion(view);
  if (version) {
    const metadata = describeMetadataPatch(view, services.provider, version);
    if (metadata) await services.kube.merge(Cluster, clusterIdentityOf(cluster), metadata, {}, context.signal);
  } else if (cluster.metadata.labels?.[openmcpKeys.provider] !== services.provider) {
    await services.kube.merge(
      Cluster,
      clusterIdentityOf(cluster),
      { metadata: { labels: { [openmcpKeys.provider]: services.provider } } },
      {},
      context.signal,
    );
  }
  const phase = terminating
    ? openmcpPhases.terminating
    : ready.status === 'True'
      ? openmcpPhases.ready
      : openmcpPhases.progressing;
  // The controllers for backups and restores may have written their parts since this reconcile began.
  const kept = keepClusterReports(newestKnown(services.kube, Cluster, cluster));
  const others = (cluster.status?.conditions ?? []).filter((condition) => !isReportedElsewhere(condition));
  const status: NonNullable<Cluster['status']> = {
    ...cluster.status,
    ...describeEndpoints(view),
    observedGeneration: generation,
    phase,
    conditions: mergeConditions(
      [...others, ...kept.conditions],
      [...states, ready, ...[nodesHealthy, ...more].filter((state) => state !== undefined)],
      {
        generation,
        now: services.clock.now(),
        ...(terminating ? {} : { drop: ['ForeignFinalizersGone'] as const }),
      },
    ),
    providerStatus: { ...describeProviderStatus(view), ...kept.providerStatus },
  };
  const written = await patchStatusIfExists(services.kube, Cluster, cluster, status, context.signal);
  if (written) recordClusterEvents(services, view, status, context.log);
}

/**
 * Publishes the `apiServer` field for older clients as soon as the address is known, and endpoints only once the API
 * server has answered. Published endpoints stay while the API server is unreachable.
 */
function describeEndpoints(view: ClusterView): Pick<NonNullable<Cluster['status']>, 'endpoints' | 'apiServer'> {
  const url = view.endpoint?.url;
  if (url === undefined) return {};
  if (!view.proof?.ok) return { apiServer: url };
  return {
    apiServer: url,
    endpoints: [
      { name: endpointNames.external, url },
      { name: endpointNames.internal, url },
    ],
  };
}

/** The cluster record stays in any case. Without usable secrets, the rest keeps its last values. */
function describeProviderStatus(view: ClusterView): Record<string, unknown> {
  const { providerStatus: before = {} } = view.cluster.status ?? {};
  if (view.secretsProblem) return before;
  const kept = (key: string) => (before[key] === undefined ? {} : { [key]: before[key] });
  const rollout = describeClusterRollout(view);
  const count = (role: string): number => view.machines.filter((machine) => machine.spec.role === role).length;
  return {
    ...kept(importedIdentityKey),
    platform: view.platform,
    providerConfig: view.config?.metadata.name,
    talosVersion: lowestTalosVersion(view.machines) ?? view.spec?.talos.version,
    kubernetesVersion: servedVersion(view) ?? view.secrets?.kubernetesVersion,
    controlPlanes: count('controlplane'),
    workers: count('worker'),
    machines: view.machines.map((machine) => machine.metadata.name),
    ...(rollout ? { [clusterRolloutKey]: { ...rollout } } : {}),
    ...(view.remediations?.length ? { [remediationRecordKey]: view.remediations } : {}),
    ...(view.secrets?.rotation ? { rotation: describeRotationProgress(view.secrets.rotation) } : {}),
    ...(view.secrets ? { [clusterRecordKey]: toClusterRecord(view.secrets) } : kept(clusterRecordKey)),
    ...(view.trust
      ? describeTrustReport(view.trust, view.secrets?.trust, view.trustRollout, count('controlplane'))
      : retainTrustReport(view.cluster)),
  };
}

/** Withdraws the endpoints, deletes the Machines and the Secret, and removes the finalizer. */
async function releaseCluster(
  services: Services,
  cluster: Cluster,
  context: ClusterReconcileContext,
): Promise<ReconcileResult> {
  const { kube } = services;
  const ref = clusterIdentityOf(cluster);
  const machines = machinesOfCluster(services, ref);
  const view = buildClusterView(services, cluster);
  // The nodes stay, so the provider removes its own objects from the cluster. It does so in each pass: a request that was
  // being granted may have added some.
  const left = view.managedBy === undefined ? undefined : await withdrawAccess(services, view, context.signal);
  const reported = await reportRelease(services, cluster, machines, { ...context, left });
  if (left !== undefined) return { requeueAfterSeconds: accessRetrySeconds };
  for (const machine of machines) await deleteMachine(services, machine, context.signal);
  if (machines.length > 0 || (await deleteUncachedMachines(services, ref, context.signal)))
    return { requeueAfterSeconds: progressRequeueSeconds };
  await closeConnections(services, ref);
  await deleteNodePools(services, ref, context.signal);
  await releaseEndpointAddress(services, cluster, context.signal);
  await deleteSecrets(services, reported, context);
  await removeFinalizer(kube, Cluster, reported, instanceFinalizers(services).cluster, context.signal);
  context.log.info({}, 'cluster was deleted');
  return {};
}

/** Keeps a Secret that holds the secrets of another cluster: it may be their only copy. */
async function deleteSecrets(
  services: Services,
  cluster: Cluster,
  { signal, log }: ClusterReconcileContext,
): Promise<void> {
  const { kube, namespace } = services;
  const key = { namespace, name: clusterSecretsName(clusterIdentityOf(cluster)) };
  const object = await kube.find(Secret, key, signal);
  const { secretsProblem: problem } = toSecretsView(
    assessSecretsOfCluster(services, { object, cluster, machines: [] }),
  );
  if (problem?.reason === 'SecretsDiffer' || problem?.reason === 'NameCollision')
    log.warn({ secret: key.name }, 'a Secret with the secrets of another cluster is kept');
  else if (object) await kube.remove(Secret, key, object.metadata.uid ? { uid: object.metadata.uid } : {}, signal);
}

/** Lists from the API server: the cache may lack Machines that were just created. */
async function deleteUncachedMachines(services: Services, ref: ClusterIdentity, signal: AbortSignal): Promise<boolean> {
  const { items } = await services.kube.list(Machine, {}, signal);
  const left = items.filter((one) => isOwnOfCluster(services, one, ref));
  for (const machine of left) await deleteMachine(services, machine, signal);
  return left.length > 0;
}

/** `left`: why the access to an adopted cluster cannot be removed. */
function describeRelease(machines: readonly Machine[], left: string | undefined): ConditionState {
  if (left !== undefined)
    return conditionFalse(
      'MachinesReady',
      accessNotRemoved,
      `The accounts and roles of AccessRequests are not removed from the cluster yet: ${left} If it never answers again, set the annotation ${annotations.approve}: ${accessNotRemoved} on the Cluster.`,
    );
  const waiting = machines.map((machine) => `${machine.metadata.name} (${machine.status?.message ?? 'not started'})`);
  const message = waiting.length > 0 ? `Deleting ${waiting.join(', ')}.` : 'All machines were deleted.';
  return conditionFalse('MachinesReady', 'WaitingForDeletion', message);
}

/** Returns the updated Cluster: removing the finalizer from an older version would conflict. */
async function reportRelease(
  services: Services,
  cluster: Cluster,
  machines: readonly Machine[],
  context: ClusterReconcileContext & { readonly left: string | undefined },
): Promise<Cluster> {
  const generation = cluster.metadata.generation ?? 0;
  const state = describeRelease(machines, context.left);
  const { endpoints: _, apiServer: __, ...rest } = cluster.status ?? { observedGeneration: 0, phase: '' };
  const status: NonNullable<Cluster['status']> = {
    ...rest,
    observedGeneration: generation,
    phase: openmcpPhases.terminating,
    conditions: mergeConditions(
      cluster.status?.conditions ?? [],
      [
        state,
        { ...state, type: 'Ready' },
        conditionFalse('EndpointReachable', 'WaitingForDeletion', 'The cluster is being deleted.'),
      ],
      { generation, now: services.clock.now(), drop: ['ForeignFinalizersGone'] },
    ),
  };
  return (await patchStatusIfExists(services.kube, Cluster, cluster, status, context.signal)) ?? cluster;
}
