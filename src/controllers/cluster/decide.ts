import { isDeepStrictEqual } from 'node:util';
import {
  type ConditionState,
  conditionFalse,
  conditionTrue,
  conditionUnknown,
  findFalseCondition,
  isConditionTrue,
} from '../../api/conditions.ts';
import type { Machine } from '../../api/machine.ts';
import { annotations } from '../../api/names.ts';
import type { WorkerPool } from '../../api/provider-config-spec.ts';
import type { RemediationDecision } from '../remediation/decide-remediation.ts';
import type { RolloutDecision } from '../rollout/decide-rollout.ts';
import { decideNextTrustRecord } from '../rollout/oidc-trust/decide-next-trust-record.ts';
import { isTrustRolloutDue } from '../rollout/oidc-trust/roll-out-trust.ts';
import type { TrustRecord } from '../rollout/oidc-trust/trust-record.ts';
import { missingRecordAnnotations, readClusterRecord, toClusterRecord } from '../shared/secrets/cluster-record.ts';
import type { ClusterSecretsProblem } from '../shared/secrets/cluster-secrets-state.ts';
import { decideClusterRemediation, secondsUntilRemediation } from './decide-cluster-remediation.ts';
import { decideClusterRollout, findFulfilledRequest } from './decide-cluster-rollout.ts';
import { decideRotationAction, type RotationAction, secondsUntilRotation } from './decide-cluster-rotation.ts';
import {
  decideUpgradeAction,
  findVersionRejection,
  readDesiredVersion,
  secondsUntilUpgrade,
  type UpgradeAction,
} from './decide-kubernetes.ts';
import { listSpecUpdates, type SpecUpdate } from './desired-machine-spec.ts';
import { chooseOfferedVersion } from './kubernetes-version.ts';
import { findMissingSlots } from './scaling/cluster-pools.ts';
import { decideClusterScaleDown } from './scaling/decide-cluster-scale-down.ts';
import { describeMachines } from './scaling/describe-machines.ts';
import type { MachineSlot, PoolBalance } from './scaling/machine-slots.ts';
import { type ClusterView, readDesiredNodePrefix } from './view.ts';

/** The next action for a Cluster. `settled`: nothing more can be done now, and the status is written. */
export type ClusterDecision =
  | { readonly kind: 'create-secrets'; readonly kubernetesVersion: string }
  | { readonly kind: 'seek-secrets' }
  | { readonly kind: 'record' }
  | { readonly kind: 'find-endpoint' }
  | { readonly kind: 'create-node-pools'; readonly pools: readonly WorkerPool[] }
  | { readonly kind: 'create-machines'; readonly slots: readonly MachineSlot[] }
  | { readonly kind: 'bootstrap'; readonly machine: Machine | undefined }
  | { readonly kind: 'record-trust'; readonly record: TrustRecord }
  | { readonly kind: 'roll-trust'; readonly record: TrustRecord }
  | { readonly kind: 'update-specs'; readonly updates: readonly SpecUpdate[] }
  | { readonly kind: 'prove' }
  | { readonly kind: 'end-rollout-request'; readonly retry: readonly Machine[] }
  | { readonly kind: 'delete-machine'; readonly pool: PoolBalance }
  | { readonly kind: 'remediate'; readonly remediation: Extract<RemediationDecision, { kind: 'act' }> }
  | { readonly kind: 'withdraw-remediation'; readonly machine: Machine }
  | { readonly kind: 'upgrade'; readonly action: UpgradeAction }
  | { readonly kind: 'update-machine'; readonly update: Extract<RolloutDecision, { kind: 'update' }> }
  | { readonly kind: 'rotate'; readonly action: RotationAction }
  | { readonly kind: 'settled' };

/** Decides from the view alone. Executing the decision yields a view in which it is done. */
export function decideCluster(view: ClusterView): ClusterDecision {
  const first = decideSecrets(view);
  if (first || !view.secrets) return first ?? { kind: 'settled' };
  // Before the Machines exist: their first configuration contains the trust.
  const record = decideNextTrustRecord(view);
  if (record) return { kind: 'record-trust', record };
  // From here on the cluster is reconciled even if a later spec is rejected.
  if (!view.endpoint) return view.spec || view.machines.length > 0 ? { kind: 'find-endpoint' } : { kind: 'settled' };
  // The request moves the endpoint to a control plane that serves it.
  if (view.isRestoring) return view.proof ? { kind: 'settled' } : { kind: 'prove' };
  return decideMachines(view);
}

/** With an endpoint. */
function decideMachines(view: ClusterView): ClusterDecision {
  const pools = listMissingNodePools(view);
  if (pools.length > 0) return { kind: 'create-node-pools', pools };
  const slots = slotsToCreate(view);
  if (slots.length > 0) return { kind: 'create-machines', slots };
  if (view.secrets?.bootstrappedAt) return decideBootstrapped(view);
  const runs = !view.bootstrap && view.machines.some(canBootstrap) && !isRestoreRequested(view);
  return runs ? { kind: 'bootstrap', machine: findBootstrapCandidate(view) } : { kind: 'settled' };
}

/**
 * The decisions with the highest priority; undefined when the secrets exist and the record is complete in both places.
 */
function decideSecrets(view: ClusterView): ClusterDecision | undefined {
  // The cache may lack a Secret that was just created, or may be incomplete.
  if (view.secretsProblem?.reason === 'SecretsMissing' && !view.searched) return { kind: 'seek-secrets' };
  if (needsUserAction(view)) return { kind: 'settled' };
  if (view.secrets) return isRecordIncomplete(view) ? { kind: 'record' } : undefined;
  // The cluster of others has secrets already.
  if (view.managedBy !== undefined) return { kind: 'settled' };
  const version = decideKubernetesVersion(view);
  if ('refused' in version || view.cluster.metadata.deletionTimestamp) return { kind: 'settled' };
  return { kind: 'create-secrets', kubernetesVersion: version.version };
}

/** For a bootstrapped cluster. Its API server need not answer: a wrong trust is rolled back on the nodes. */
function decideBootstrapped(view: ClusterView): ClusterDecision {
  const updates = listSpecUpdates(view);
  if (updates.length > 0) return { kind: 'update-specs', updates };
  const { secrets, machines, trustRollout: rollout, proof, trust } = view;
  const record = secrets?.trust;
  // An empty record must not remove the trust that a patch configures on new nodes.
  const isOver = trust?.isTaken === true && record?.complete === true && record.entries.length === 0;
  if (record && !rollout && !isOver && isTrustRolloutDue(machines, record)) return { kind: 'roll-trust', record };
  if (!proof) return { kind: 'prove' };
  const fulfilled = findFulfilledRequest(view);
  if (fulfilled) return { kind: 'end-rollout-request', ...fulfilled };
  // Fewer machines first: what is deleted need not be updated.
  const scaleDown = decideClusterScaleDown(view);
  if (scaleDown.kind === 'remove') return { kind: 'delete-machine', pool: scaleDown.pool };
  // What is unhealthy is not changed.
  const remediation = decideClusterRemediation(view);
  if (remediation.kind === 'withdraw') return { kind: 'withdraw-remediation', machine: remediation.machine };
  if (remediation.kind === 'act' && view.remediationObstacle === undefined) return { kind: 'remediate', remediation };
  const action = decideUpgradeAction(view);
  if (action) return { kind: 'upgrade', action };
  const update = view.updateObstacle === undefined ? decideClusterRollout(view) : undefined;
  if (update?.kind === 'update') return { kind: 'update-machine', update };
  const rotation = decideRotationAction(view);
  return rotation ? { kind: 'rotate', action: rotation } : { kind: 'settled' };
}

const needsUserAction = ({ secretsProblem: problem, noAddress }: ClusterView): boolean =>
  problem !== undefined || noAddress !== undefined;

/** Whether the Secret or the status of the Cluster lacks a field of the cluster record. */
function isRecordIncomplete({ secrets, cluster, recorded }: ClusterView): boolean {
  if (!secrets) return false;
  const record = toClusterRecord(secrets);
  if (recorded === JSON.stringify(record)) return false;
  return (
    !isDeepStrictEqual(readClusterRecord(cluster), record) || Object.keys(missingRecordAnnotations(secrets)).length > 0
  );
}

/**
 * The Kubernetes version of the cluster. It is recorded with the secrets when they are created, and after each step of an
 * upgrade.
 */
export function decideKubernetesVersion(view: ClusterView): { version: string } | { refused: ConditionState } {
  const refused = findConfigRejection(view) ?? findNodePrefixRejection(view);
  if (refused) return { refused };
  const running = view.secrets?.kubernetesVersion;
  if (view.managedBy !== undefined) return { version: running ?? '' };
  if (!running) return decideNewVersion(view, readDesiredVersion(view));
  const change = findVersionRejection(view);
  return change ? { refused: change } : { version: running };
}

/** Why the Cluster is not accepted, for any version. An accepted one outlives the deletion of its ProviderConfig. */
function findConfigRejection(view: ClusterView): ConditionState | undefined {
  const { config, spec, secrets, cluster } = view;
  if (!config || (config.metadata.deletionTimestamp && !secrets)) {
    const message = `spec.profile: the ProviderConfig behind ${cluster.spec.profile} does not exist or is being deleted. Create it again, or delete this Cluster.`;
    return conditionFalse('Accepted', 'ProviderConfigMissing', message);
  }
  if (view.configMismatch) return conditionFalse('Accepted', view.configMismatch.reason, view.configMismatch.message);
  if (!spec && view.managedBy === undefined) {
    const message = describeConfigNotReady(config.metadata.name);
    return conditionFalse('Accepted', 'ProviderConfigNotReady', message);
  }
  if (view.endpointHolder) {
    const { namespace, name } = view.endpointHolder;
    const message = `ProviderConfig ${config.metadata.name} has one fixed endpoint (${view.fixedEndpoint?.field}), which Cluster ${namespace}/${name} uses. Delete that Cluster, or use another profile.`;
    return conditionFalse('Accepted', 'EndpointInUse', message);
  }
  return undefined;
}

/** The names of nodes never change. */
function findNodePrefixRejection(view: ClusterView): ConditionState | undefined {
  const desired = readDesiredNodePrefix(view);
  const field = `metadata.annotations[${annotations.nodePrefix}]`;
  if (view.secrets) {
    const kept = view.secrets.nodePrefix;
    if (desired === kept) return undefined;
    const remedy = kept === undefined ? 'Remove it' : `Restore ${kept}`;
    return conditionFalse(
      'Accepted',
      'NameChangeRejected',
      `${field}: the names of existing nodes cannot be changed. ${remedy}.`,
    );
  }
  if (desired === undefined || /^[a-z]([a-z0-9-]{0,28}[a-z0-9])?$/.test(desired)) return undefined;
  const message = `${field}: ${desired} is not a valid prefix of node names. Use up to 30 lower-case letters, digits and dashes, with a letter first.`;
  return conditionFalse('Accepted', 'InvalidConfig', message);
}

const describeConfigNotReady = (config: string): string =>
  `spec.profile: ProviderConfig ${config} is not ready. See its conditions.`;

function decideNewVersion(
  { config, spec }: ClusterView,
  desired: string | undefined,
): { version: string } | { refused: ConditionState } {
  // Conditions of an earlier generation do not apply to this one.
  const assessed = config?.status?.observedGeneration === config?.metadata.generation;
  if (!assessed || !isConditionTrue(config?.status?.conditions, 'Ready'))
    return {
      refused: conditionFalse(
        'Accepted',
        'ProviderConfigNotReady',
        describeConfigNotReady(config?.metadata.name ?? ''),
      ),
    };
  const offered = spec?.kubernetes.versions.map((entry) => entry.version) ?? [];
  const version = spec && chooseOfferedVersion(spec, desired);
  if (version) return { version };
  const message = `spec.kubernetes.version: ${desired} is not offered. Use one of ${offered.join(', ')}, or omit it.`;
  return { refused: conditionFalse('Accepted', 'VersionNotOffered', message) };
}

/** A name collision of one missing Machine delays only the missing Machines. */
const slotsToCreate = (view: ClusterView): MachineSlot[] =>
  view.nameTaken === undefined ? findMissingSlots(view) : [];

/** The worker pools without a NodePool. */
const listMissingNodePools = ({ spec, nodePools, nameTaken }: ClusterView): WorkerPool[] =>
  nameTaken === undefined
    ? (spec?.workerPools ?? []).filter((pool) => !nodePools.some((one) => one.spec.pool === pool.name))
    : [];

/**
 * The machine on which etcd is bootstrapped. Once chosen, it never changes. Before that, it is the first control plane
 * whose Talos API answered from the installed system.
 */
export function findBootstrapCandidate(view: ClusterView): Machine | undefined {
  const able = view.machines.filter(canBootstrap);
  const chosen = view.secrets?.bootstrapMachine;
  return chosen ? able.find((machine) => machine.metadata.name === chosen) : able[0];
}

/** A user wants the etcd of a backup, and not a new one. */
const isRestoreRequested = ({ cluster }: ClusterView): boolean =>
  cluster.metadata.annotations?.[annotations.restore] !== undefined;

/** A control plane without deletion that runs its installed system. */
const canBootstrap = ({ spec, metadata, status }: Machine): boolean =>
  spec.role === 'controlplane' && !metadata.deletionTimestamp && isConditionTrue(status?.conditions, 'Provisioned');

/** While the node watch is open: a safety net for missed changes. */
const idleRequeueSeconds = 1800;
const steadyRequeueSeconds = 60;
const progressRequeueSeconds = 5;
const rolloutRequeueSeconds = 3;
const obstacleRequeueSeconds = 15;
/**
 * While other clusters come first, which takes minutes: for the first waiting cluster, and the maximum. The end of a turn
 * enqueues the next one earlier.
 */
const turnRequeueSeconds = { first: 30, most: 300 };
/** For an API server that does not answer: minimum and maximum. Its restart takes some seconds. */
const unreachableRequeueSeconds = { first: 2, most: 30 };

/**
 * When to reconcile a Cluster again. If an API server that has answered before is silent, the interval grows with the
 * time of silence: each attempt may take long and occupies a worker.
 */
export function decideRequeueAfterSeconds(
  view: ClusterView,
  states: readonly ConditionState[],
  { isConnected, now }: { readonly isConnected: boolean; readonly now: Date },
): number {
  // No event reports that another cluster has released its addresses.
  const allTrue = states.every((state) => state.status === 'True');
  const isSettled = needsUserAction(view) || isBlockedByNameCollision(view) || isRejected(view, states) || allTrue;
  if (isSettled) return decideSettledRequeue(view, allTrue && isConnected);
  const { endpoints, conditions } = view.cluster.status ?? {};
  const unresponsive = endpoints && !view.proof?.ok && findFalseCondition(conditions, 'EndpointReachable');
  if (!unresponsive) return progressRequeueSeconds;
  const silentFor = (now.getTime() - Date.parse(unresponsive.lastTransitionTime)) / 1000;
  return Math.min(unreachableRequeueSeconds.most, Math.max(unreachableRequeueSeconds.first, silentFor / 10));
}

/** `isWatched`: its nodes are watched, and all is well. */
function decideSettledRequeue(view: ClusterView, isWatched: boolean): number {
  if (view.trustRollout?.message !== undefined) return rolloutRequeueSeconds;
  if (view.updateObstacle?.isTurn) return decideTurnRequeue(view.updateObstacle.waitingBefore ?? 0);
  if (view.updateObstacle) return obstacleRequeueSeconds;
  if (decideClusterScaleDown(view).kind !== 'none') return obstacleRequeueSeconds;
  if (view.remediationObstacle !== undefined) return obstacleRequeueSeconds;
  const idle = isWatched ? idleRequeueSeconds : steadyRequeueSeconds;
  const seconds = [secondsUntilWindow, secondsUntilUpgrade, secondsUntilRemediation, secondsUntilRotation];
  return Math.min(idle, ...seconds.map((until) => until(view)));
}

/** The others need not look as often as the first one, since one after the other becomes the first. */
const decideTurnRequeue = (waitingBefore: number): number =>
  Math.min(turnRequeueSeconds.most, turnRequeueSeconds.first * (1 + waitingBefore));

/** Until the window that changes wait for. */
function secondsUntilWindow(view: ClusterView): number {
  const rollout = decideClusterRollout(view);
  if (rollout.kind !== 'wait' || !rollout.until) return Number.POSITIVE_INFINITY;
  return Math.max(1, Math.ceil((rollout.until.getTime() - view.now.getTime()) / 1000));
}

/** Only an object of another Cluster blocks progress. No event reports its deletion. */
const isBlockedByNameCollision = ({ nameTaken, machines, proof }: ClusterView): boolean =>
  nameTaken !== undefined && (machines.length === 0 || proof?.ok === true);

/**
 * Rejected until a change, which triggers a reconcile. An endpoint becomes available without a change of this Cluster.
 */
const isRejected = ({ secrets }: ClusterView, states: readonly ConditionState[]): boolean =>
  !secrets &&
  states.some(({ type, status, reason }) => type === 'Accepted' && status !== 'True' && reason !== 'EndpointInUse');

/** The conditions of a Cluster in the order in which they become true. */
export function describeClusterConditions(view: ClusterView): ConditionState[] {
  if (view.secretsProblem) return describeSecretsProblem(view.secretsProblem);
  const version = decideKubernetesVersion(view);
  const accepted = 'refused' in version ? version.refused : conditionTrue('Accepted');
  if (accepted.status !== 'True' && !view.secrets) return [accepted];
  return [
    accepted,
    view.secrets ? conditionTrue('SecretsReady') : describeMissingSecrets(view),
    describeMachines(view),
    describeBootstrap(view),
    describeEndpoint(view),
  ];
}

const describeMissingSecrets = ({ managedBy, ref }: ClusterView): ConditionState =>
  managedBy === undefined
    ? conditionFalse('SecretsReady', 'WaitingForSecrets', 'The secrets are being created.')
    : conditionFalse(
        'SecretsReady',
        'NotAdopted',
        `The cluster is managed by ${managedBy} and was not adopted yet: use the command adopt --cluster ${ref.namespace}/${ref.name}.`,
      );

/** Nothing else is checked without the secrets, so the other conditions keep their values. */
function describeSecretsProblem({ reason, message }: ClusterSecretsProblem): ConditionState[] {
  const unobserved = 'Without the secrets of the cluster its API server cannot be probed. It may be available.';
  return [conditionFalse('SecretsReady', reason, message), conditionUnknown('EndpointReachable', reason, unobserved)];
}

function describeBootstrap(view: ClusterView): ConditionState {
  if (view.secrets?.bootstrappedAt) return conditionTrue('Bootstrapped');
  const none = isRestoreRequested(view)
    ? 'A restore is requested: no empty etcd is bootstrapped. See EtcdRestored.'
    : 'No control plane runs its installed system yet.';
  const message = view.bootstrap?.message ?? none;
  return conditionFalse('Bootstrapped', 'WaitingForBootstrap', message);
}

function describeEndpoint(view: ClusterView): ConditionState {
  if (view.isRestoring)
    return conditionFalse('EndpointReachable', 'Restoring', 'Etcd is being restored from a backup: see EtcdRestored.');
  if (view.proof?.ok) return conditionTrue('EndpointReachable');
  const unobserved = view.secrets?.bootstrappedAt
    ? 'The API server was not probed yet.'
    : 'The API server is probed once etcd is bootstrapped.';
  return conditionFalse('EndpointReachable', 'WaitingForEndpoint', view.proof?.message ?? unobserved);
}
