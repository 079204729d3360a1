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
import { decideNextTrustRecord } from '../rollout/oidc-trust/decide-next-trust-record.ts';
import { isTrustRolloutDue } from '../rollout/oidc-trust/roll-out-trust.ts';
import type { TrustRecord } from '../rollout/oidc-trust/trust-record.ts';
import { missingRecordAnnotations, readClusterRecord, toClusterRecord } from '../shared/secrets/cluster-record.ts';
import type { ClusterSecretsProblem } from '../shared/secrets/cluster-secrets-state.ts';
import { chooseOfferedVersion, satisfiesVersion } from './kubernetes-version.ts';
import { type ClusterView, listDesiredSlots, type MachineSlot, readDesiredNodePrefix } from './view.ts';

/** The one thing to do next for a Cluster. `settled`: nothing more can be done now; say how it stands. */
export type ClusterDecision =
  | { readonly kind: 'create-secrets'; readonly kubernetesVersion: string }
  | { readonly kind: 'seek-secrets' }
  | { readonly kind: 'record' }
  | { readonly kind: 'find-endpoint' }
  | { readonly kind: 'create-machines'; readonly slots: readonly MachineSlot[] }
  | { readonly kind: 'bootstrap'; readonly machine: Machine | undefined }
  | { readonly kind: 'record-trust'; readonly record: TrustRecord }
  | { readonly kind: 'roll-trust'; readonly record: TrustRecord }
  | { readonly kind: 'prove' }
  | { readonly kind: 'settled' };

/** Decides from the view alone; whoever acts on it brings a view in which this decision is behind us. */
export function decideCluster(view: ClusterView): ClusterDecision {
  const first = decideSecrets(view);
  if (first || !view.secrets) return first ?? { kind: 'settled' };
  // Before there are machines: they are made with it.
  const record = decideNextTrustRecord(view);
  if (record) return { kind: 'record-trust', record };
  // From here on it is served, whatever is asked for later: a wish that is refused must not leave a cluster alone.
  if (!view.endpoint) return view.spec || view.machines.length > 0 ? { kind: 'find-endpoint' } : { kind: 'settled' };
  const slots = slotsToCreate(view);
  if (slots.length > 0) return { kind: 'create-machines', slots };
  if (view.secrets.bootstrappedAt) return decideBootstrapped(view);
  const runs = !view.bootstrap && view.machines.some(canBootstrap);
  return runs ? { kind: 'bootstrap', machine: findBootstrapCandidate(view) } : { kind: 'settled' };
}

/** What comes before everything else; undefined when the secrets exist and what was decided once lies in two places. */
function decideSecrets(view: ClusterView): ClusterDecision | undefined {
  // The cache may lack the Secret that was made a moment ago, or not be complete yet.
  if (view.trouble?.reason === 'SecretsMissing' && !view.sought) return { kind: 'seek-secrets' };
  if (needsUserAction(view)) return { kind: 'settled' };
  if (view.secrets) return isRecordIncomplete(view) ? { kind: 'record' } : undefined;
  const version = decideKubernetesVersion(view);
  if ('refused' in version || view.cluster.metadata.deletionTimestamp) return { kind: 'settled' };
  return { kind: 'create-secrets', kubernetesVersion: version.version };
}

/** A cluster that was bootstrapped. Its API server need not answer: a wrong trust is undone on the nodes. */
function decideBootstrapped({ secrets, machines, roll, proof, trust }: ClusterView): ClusterDecision {
  const record = secrets?.trust;
  // What a patch has new nodes trust is not for the last request that went to take away.
  const isOver = trust?.isTaken === true && record?.complete === true && record.entries.length === 0;
  if (record && !roll && !isOver && isTrustRolloutDue(machines, record)) return { kind: 'roll-trust', record };
  return proof ? { kind: 'settled' } : { kind: 'prove' };
}

/** Only people can help. */
const needsUserAction = ({ trouble, noAddress }: ClusterView): boolean =>
  trouble !== undefined || noAddress !== undefined;

/** Whether the Secret or the status of the Cluster lacks something that was decided about the cluster. */
function isRecordIncomplete({ secrets, cluster, recorded }: ClusterView): boolean {
  if (!secrets) return false;
  const record = toClusterRecord(secrets);
  if (recorded === JSON.stringify(record)) return false;
  return (
    !isDeepStrictEqual(readClusterRecord(cluster), record) || Object.keys(missingRecordAnnotations(secrets)).length > 0
  );
}

/**
 * The Kubernetes version that the cluster has or is to get. The one it was made with is pinned with its secrets: a
 * changed wish is judged against it.
 */
export function decideKubernetesVersion(view: ClusterView): { version: string } | { refused: ConditionState } {
  const refused = findConfigRejection(view) ?? findNodePrefixRejection(view);
  if (refused) return { refused };
  const wished = view.cluster.spec.kubernetes?.version?.replace(/^v(?=\d)/, '');
  const pinned = view.secrets?.kubernetesVersion;
  return pinned ? decidePinnedVersion(pinned, wished) : decideNewVersion(view, wished);
}

/** Why the Cluster cannot be served at all, whatever version it wishes for. A served one outlives its config's deletion. */
function findConfigRejection(view: ClusterView): ConditionState | undefined {
  const { config, spec, secrets, cluster } = view;
  if (!config || (config.metadata.deletionTimestamp && !secrets)) {
    const message = `spec.profile: the ProviderConfig behind ${cluster.spec.profile} does not exist or is being deleted. Create it again, or delete this Cluster.`;
    return conditionFalse('Accepted', 'ProviderConfigMissing', message);
  }
  if (view.misfit) return conditionFalse('Accepted', view.misfit.reason, view.misfit.message);
  if (!spec) {
    const message = describeConfigNotReady(config.metadata.name);
    return conditionFalse('Accepted', 'ProviderConfigNotReady', message);
  }
  if (view.endpointHolder) {
    const { namespace, name } = view.endpointHolder;
    const message = `ProviderConfig ${config.metadata.name} has one fixed endpoint (${view.fixedEndpoint?.field}), and Cluster ${namespace}/${name} has it. Delete that one, or use another profile.`;
    return conditionFalse('Accepted', 'EndpointTaken', message);
  }
  return undefined;
}

/** Names of nodes are for good. */
function findNodePrefixRejection(view: ClusterView): ConditionState | undefined {
  const wished = readDesiredNodePrefix(view);
  const field = `metadata.annotations[${annotations.nodePrefix}]`;
  if (view.secrets) {
    const kept = view.secrets.nodePrefix;
    if (wished === kept) return undefined;
    const remedy = kept === undefined ? 'Remove it' : `Put ${kept} back`;
    return conditionFalse('Accepted', 'NameChangeRefused', `${field}: the nodes have their names already. ${remedy}.`);
  }
  if (wished === undefined || /^[a-z]([a-z0-9-]{0,28}[a-z0-9])?$/.test(wished)) return undefined;
  const message = `${field}: ${wished} is not what names of nodes can begin with. Use up to 30 lower-case letters, digits and dashes, a letter first.`;
  return conditionFalse('Accepted', 'InvalidConfig', message);
}

const describeConfigNotReady = (config: string): string =>
  `spec.profile: ProviderConfig ${config} is not ready. See its conditions, and correct what they name.`;

function decidePinnedVersion(
  pinned: string,
  wished: string | undefined,
): { version: string } | { refused: ConditionState } {
  if (!wished || satisfiesVersion(pinned, wished)) return { version: pinned };
  const message = `spec.kubernetes.version: the cluster runs ${pinned}; changing it to ${wished} is not possible in this release. Put ${pinned} back.`;
  return { refused: conditionFalse('Accepted', 'VersionChangeRefused', message) };
}

function decideNewVersion(
  { config, spec }: ClusterView,
  wished: string | undefined,
): { version: string } | { refused: ConditionState } {
  // What it said of an earlier generation says nothing about this one.
  const judged = config?.status?.observedGeneration === config?.metadata.generation;
  if (!judged || !isConditionTrue(config?.status?.conditions, 'Ready'))
    return {
      refused: conditionFalse(
        'Accepted',
        'ProviderConfigNotReady',
        describeConfigNotReady(config?.metadata.name ?? ''),
      ),
    };
  const offered = spec?.kubernetes.versions.map((entry) => entry.version) ?? [];
  const version = spec && chooseOfferedVersion(spec, wished);
  if (version) return { version };
  const message = `spec.kubernetes.version: ${wished} is not offered. Use one of ${offered.join(', ')}, or leave it out.`;
  return { refused: conditionFalse('Accepted', 'VersionNotOffered', message) };
}

/** What stands in the way of one is in the way of none that exists. */
const slotsToCreate = (view: ClusterView): MachineSlot[] =>
  view.nameTaken === undefined ? findMissingSlots(view) : [];

export function findMissingSlots(view: ClusterView): MachineSlot[] {
  const present = new Set(view.machines.map((machine) => machine.metadata.name));
  return listDesiredSlots(view).filter((slot) => !present.has(slot.name));
}

/**
 * The machine to bootstrap etcd on: once chosen, always the same; else the first control plane whose Talos API answered
 * from the installed system.
 */
export function findBootstrapCandidate(view: ClusterView): Machine | undefined {
  const able = view.machines.filter(canBootstrap);
  const chosen = view.secrets?.bootstrapMachine;
  return chosen ? able.find((machine) => machine.metadata.name === chosen) : able[0];
}

/** A control plane that stays and runs from its installed system. */
const canBootstrap = ({ spec, metadata, status }: Machine): boolean =>
  spec.role === 'controlplane' && !metadata.deletionTimestamp && isConditionTrue(status?.conditions, 'Provisioned');

/** While the cluster itself tells what becomes of it: in case that something was missed. */
const idleRequeueSeconds = 1800;
const steadyRequeueSeconds = 60;
const progressRequeueSeconds = 5;
const rolloutRequeueSeconds = 3;
/** Of one that is silent, at first and at most: a restart of its API server takes some seconds. */
const unreachableRequeueSeconds = { first: 2, most: 30 };

/**
 * When to look at a Cluster again. One that has answered before and is silent is asked less often the longer it is so: each
 * attempt may take long, and others need the workers.
 */
export function decideRequeueAfterSeconds(
  view: ClusterView,
  states: readonly ConditionState[],
  { isHeard, now }: { readonly isHeard: boolean; readonly now: Date },
): number {
  // Addresses are given back when other clusters go, of which nobody tells.
  const allTrue = states.every((state) => state.status === 'True');
  const restful = needsUserAction(view) || isBlockedByNameCollision(view) || isRejected(view, states) || allTrue;
  if (restful && view.roll?.message !== undefined) return rolloutRequeueSeconds;
  if (restful) return allTrue && isHeard ? idleRequeueSeconds : steadyRequeueSeconds;
  const { endpoints, conditions } = view.cluster.status ?? {};
  const silent = endpoints && !view.proof?.ok && findFalseCondition(conditions, 'EndpointReachable');
  if (!silent) return progressRequeueSeconds;
  const silentFor = (now.getTime() - Date.parse(silent.lastTransitionTime)) / 1000;
  return Math.min(unreachableRequeueSeconds.most, Math.max(unreachableRequeueSeconds.first, silentFor / 10));
}

/** Something of another Cluster is in the way, and nothing else is on its way. Nobody tells when that goes. */
const isBlockedByNameCollision = ({ nameTaken, machines, proof }: ClusterView): boolean =>
  nameTaken !== undefined && (machines.length === 0 || proof?.ok === true);

/** Refused for something that is mended by a change, which wakes it; an endpoint becomes free without one. */
const isRejected = ({ secrets }: ClusterView, states: readonly ConditionState[]): boolean =>
  !secrets &&
  states.some(({ type, status, reason }) => type === 'Accepted' && status !== 'True' && reason !== 'EndpointTaken');

/** How a Cluster stands, as conditions in the order in which they come true. */
export function describeClusterConditions(view: ClusterView): ConditionState[] {
  if (view.trouble) return describeSecretsProblem(view.trouble);
  const version = decideKubernetesVersion(view);
  const accepted = 'refused' in version ? version.refused : conditionTrue('Accepted');
  if (accepted.status !== 'True' && !view.secrets) return [accepted];
  return [
    accepted,
    view.secrets
      ? conditionTrue('SecretsReady')
      : conditionFalse('SecretsReady', 'WaitingForSecrets', 'The secrets are being made.'),
    describeMachines(view),
    describeBootstrap(view),
    describeEndpoint(view),
  ];
}

/** Nothing else is looked at then: what was said of it before stays. */
function describeSecretsProblem({ reason, message }: ClusterSecretsProblem): ConditionState[] {
  const unasked = 'The API server cannot be asked without the secrets of the cluster. It may well serve.';
  return [conditionFalse('SecretsReady', reason, message), conditionUnknown('EndpointReachable', reason, unasked)];
}

function describeMachines(view: ClusterView): ConditionState {
  if (view.noAddress) return conditionFalse('MachinesReady', 'NoAddressLeft', view.noAddress);
  if (view.nameTaken) return conditionFalse('MachinesReady', 'NameCollision', view.nameTaken);
  const wanted = listDesiredSlots(view);
  const isWanted = ({ metadata }: Machine): boolean => !view.spec || wanted.some(({ name }) => name === metadata.name);
  const expected = view.machines.filter(isWanted);
  const pending = expected.filter((machine) => !isConditionTrue(machine.status?.conditions, 'Ready'));
  const missing = findMissingSlots(view);
  const surplus = describeSurplus(view.machines.filter((machine) => !isWanted(machine)));
  const total = expected.length + missing.length;
  if (missing.length + pending.length > 0) {
    const parts = [...pending.map(describePending), ...missing.map((slot) => `${slot.name} does not exist yet`)];
    const ready = `${total - pending.length - missing.length} of ${total} are ready.`;
    return conditionFalse(
      'MachinesReady',
      'WaitingForMachines',
      [ready, `${parts.slice(0, 6).join('; ')}.`, ...surplus].join(' '),
    );
  }
  if (surplus.length > 0) return conditionFalse('MachinesReady', 'MoreThanAsked', surplus.join(' '));
  return conditionTrue(
    'MachinesReady',
    [`${total} of ${total} are ready.`, ...expected.flatMap(describeUnhealthy)].join(' '),
  );
}

/** What is told of a machine that serves all the same. */
function describeUnhealthy({ metadata, status }: Machine): readonly string[] {
  const remark = findFalseCondition(status?.conditions, 'Healthy');
  return remark ? [`${metadata.name}: ${remark.message}`] : [];
}

function describeSurplus(machines: readonly Machine[]): readonly string[] {
  if (machines.length === 0) return [];
  const names = machines.map(({ metadata }) => metadata.name).join(', ');
  return [`More machines than asked for: ${names}. To remove one, delete its Machine.`];
}

const describePending = (machine: Machine): string => {
  const message = machine.status?.message?.replace(/\.$/, '') || 'has not begun';
  return `${machine.metadata.name}: ${message}`;
};

function describeBootstrap(view: ClusterView): ConditionState {
  if (view.secrets?.bootstrappedAt) return conditionTrue('Bootstrapped');
  const message = view.bootstrap?.message ?? 'No control plane runs from its installed system yet.';
  return conditionFalse('Bootstrapped', 'WaitingForBootstrap', message);
}

function describeEndpoint(view: ClusterView): ConditionState {
  if (view.proof?.ok) return conditionTrue('EndpointReachable');
  const unasked = view.secrets?.bootstrappedAt
    ? 'The API server was not asked yet.'
    : 'The API server is asked as soon as etcd has members.';
  return conditionFalse('EndpointReachable', 'WaitingForEndpoint', view.proof?.message ?? unasked);
}
