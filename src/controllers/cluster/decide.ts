import { type ConditionState, findFalse, isTrue, no, yes } from '../../api/conditions.ts';
import type { Machine } from '../../api/machine.ts';
import { annotations } from '../../api/names.ts';
import { nextTrust } from '../trust/next.ts';
import type { TrustRecord } from '../trust/record.ts';
import { isRollDue } from '../trust/roll.ts';
import { type ClusterView, newestOffered, type Slot, slotsOf, wishedPrefix } from './view.ts';

/** The one thing to do next for a Cluster. `settled`: nothing more can be done now; say how it stands. */
export type Decision =
  | { readonly kind: 'create-secrets'; readonly kubernetesVersion: string }
  | { readonly kind: 'find-endpoint' }
  | { readonly kind: 'create-machines'; readonly slots: readonly Slot[] }
  | { readonly kind: 'bootstrap'; readonly machine: Machine }
  | { readonly kind: 'record-trust'; readonly record: TrustRecord }
  | { readonly kind: 'roll-trust'; readonly record: TrustRecord }
  | { readonly kind: 'prove' }
  | { readonly kind: 'settled' };

/** Decides from the view alone; whoever acts on it brings a view in which this decision is behind us. */
export function decide(view: ClusterView): Decision {
  if (isStuck(view)) return { kind: 'settled' };
  if (!view.secrets) {
    const version = decideVersion(view);
    return 'refused' in version ? { kind: 'settled' } : { kind: 'create-secrets', kubernetesVersion: version.version };
  }
  // Before there are machines: they are made with it.
  const record = nextTrust(view);
  if (record) return { kind: 'record-trust', record };
  // From here on it is served, whatever is asked for later: a wish that is refused must not leave a cluster alone.
  if (!view.endpoint) return view.spec || view.machines.length > 0 ? { kind: 'find-endpoint' } : { kind: 'settled' };
  const missing = missingSlots(view);
  if (missing.length > 0) return { kind: 'create-machines', slots: missing };
  if (!view.secrets.bootstrappedAt) {
    const machine = view.bootstrap ? undefined : bootstrapCandidate(view);
    return machine ? { kind: 'bootstrap', machine } : { kind: 'settled' };
  }
  return decideServing(view);
}

/** A cluster that was bootstrapped. Its API server need not answer: a wrong trust is undone on the nodes. */
function decideServing({ secrets, machines, roll, proof }: ClusterView): Decision {
  const record = secrets?.trust;
  if (record && !roll && isRollDue(machines, record)) return { kind: 'roll-trust', record };
  return proof ? { kind: 'settled' } : { kind: 'prove' };
}

/** Only people can help. */
const isStuck = ({ damage, noAddress }: ClusterView): boolean => damage !== undefined || noAddress !== undefined;

/**
 * The Kubernetes version that the cluster has or is to get. The one it was made with is pinned with its secrets: a
 * changed wish is judged against it.
 */
export function decideVersion(view: ClusterView): { version: string } | { refused: ConditionState } {
  const refused = refuseConfig(view) ?? refusePrefix(view);
  if (refused) return { refused };
  const wished = view.cluster.spec.kubernetes?.version?.replace(/^v(?=\d)/, '');
  const pinned = view.secrets?.kubernetesVersion;
  return pinned ? keepVersion(pinned, wished) : chooseVersion(view, wished);
}

/** Why the Cluster cannot be served at all, whatever version it wishes for. A served one outlives its config's deletion. */
function refuseConfig(view: ClusterView): ConditionState | undefined {
  const { config, spec, secrets, cluster } = view;
  if (!config || (config.metadata.deletionTimestamp && !secrets)) {
    const message = `spec.profile: the ProviderConfig behind ${cluster.spec.profile} does not exist or is being deleted. Create it again, or delete this Cluster.`;
    return no('Accepted', 'ProviderConfigMissing', message);
  }
  if (view.misfit) return no('Accepted', view.misfit.reason, view.misfit.message);
  if (!spec) {
    const message = notReady(config.metadata.name);
    return no('Accepted', 'ProviderConfigNotReady', message);
  }
  if (view.endpointHolder) {
    const { namespace, name } = view.endpointHolder;
    const message = `ProviderConfig ${config.metadata.name} has one fixed endpoint (${view.fixedEndpoint?.field}), and Cluster ${namespace}/${name} has it. Delete that one, or use another profile.`;
    return no('Accepted', 'EndpointTaken', message);
  }
  return undefined;
}

/** Names of nodes are for good. */
function refusePrefix(view: ClusterView): ConditionState | undefined {
  const wished = wishedPrefix(view);
  const field = `metadata.annotations[${annotations.nodePrefix}]`;
  if (view.secrets) {
    const kept = view.secrets.nodePrefix;
    if (wished === kept) return undefined;
    const remedy = kept === undefined ? 'Remove it' : `Put ${kept} back`;
    return no('Accepted', 'NameChangeRefused', `${field}: the nodes have their names already. ${remedy}.`);
  }
  if (wished === undefined || /^[a-z]([a-z0-9-]{0,28}[a-z0-9])?$/.test(wished)) return undefined;
  const message = `${field}: ${wished} is not what names of nodes can begin with. Use up to 30 lower-case letters, digits and dashes, a letter first.`;
  return no('Accepted', 'InvalidConfig', message);
}

const notReady = (config: string): string =>
  `spec.profile: ProviderConfig ${config} is not ready. See its conditions, and correct what they name.`;

function keepVersion(pinned: string, wished: string | undefined): { version: string } | { refused: ConditionState } {
  if (!wished || wished === pinned) return { version: pinned };
  const message = `spec.kubernetes.version: the cluster runs ${pinned}; changing it to ${wished} is not possible in this release. Put ${pinned} back.`;
  return { refused: no('Accepted', 'VersionChangeRefused', message) };
}

function chooseVersion(
  { config, spec }: ClusterView,
  wished: string | undefined,
): { version: string } | { refused: ConditionState } {
  // What it said of an earlier generation says nothing about this one.
  const judged = config?.status?.observedGeneration === config?.metadata.generation;
  if (!judged || !isTrue(config?.status?.conditions, 'Ready'))
    return { refused: no('Accepted', 'ProviderConfigNotReady', notReady(config?.metadata.name ?? '')) };
  const offered = spec?.kubernetes.versions.map((entry) => entry.version) ?? [];
  const version = wished || (spec && newestOffered(spec));
  if (version && offered.includes(version)) return { version };
  const message = `spec.kubernetes.version: ${wished} is not offered. Use one of ${offered.join(', ')}, or leave it out.`;
  return { refused: no('Accepted', 'VersionNotOffered', message) };
}

export function missingSlots(view: ClusterView): Slot[] {
  const present = new Set(view.machines.map((machine) => machine.metadata.name));
  return slotsOf(view).filter((slot) => !present.has(slot.name));
}

/**
 * The machine to bootstrap etcd on: once chosen, always the same; else the first control plane whose Talos API answered
 * from the installed system.
 */
export function bootstrapCandidate(view: ClusterView): Machine | undefined {
  const able = view.machines.filter(
    (machine) =>
      machine.spec.role === 'controlplane' &&
      !machine.metadata.deletionTimestamp &&
      isTrue(machine.status?.conditions, 'Provisioned'),
  );
  const chosen = view.secrets?.bootstrapMachine;
  return chosen ? able.find((machine) => machine.metadata.name === chosen) : able[0];
}

/** While the cluster itself tells what becomes of it: in case that something was missed. */
const restSeconds = 1800;
const settledSeconds = 60;
const progressSeconds = 5;
const rollingSeconds = 3;
const silentSeconds = 30;

/**
 * When to look at a Cluster again. One that has answered before and is silent is asked less often the longer it is so: each
 * attempt may take long, and others need the workers.
 */
export function lookAgainSeconds(
  view: ClusterView,
  states: readonly ConditionState[],
  { isHeard, now }: { readonly isHeard: boolean; readonly now: Date },
): number {
  // Addresses are given back when other clusters go, of which nobody tells.
  const allTrue = states.every((state) => state.status === 'True');
  const restful = view.noAddress !== undefined || isRefused(view, states) || allTrue;
  if (restful && view.roll?.message !== undefined) return rollingSeconds;
  if (restful) return allTrue && isHeard ? restSeconds : settledSeconds;
  const { endpoints, conditions } = view.cluster.status ?? {};
  const silent = endpoints && !view.proof?.ok && findFalse(conditions, 'EndpointReachable');
  if (!silent) return progressSeconds;
  const silentFor = (now.getTime() - Date.parse(silent.lastTransitionTime)) / 1000;
  return Math.min(silentSeconds, Math.max(progressSeconds, silentFor / 10));
}

/** Refused for something that is mended by a change, which wakes it; an endpoint becomes free without one. */
const isRefused = ({ secrets }: ClusterView, states: readonly ConditionState[]): boolean =>
  !secrets &&
  states.some(({ type, status, reason }) => type === 'Accepted' && status !== 'True' && reason !== 'EndpointTaken');

/** How a Cluster stands, as conditions in the order in which they come true. */
export function describeStates(view: ClusterView): ConditionState[] {
  const version = decideVersion(view);
  const accepted = 'refused' in version ? version.refused : yes('Accepted');
  if (view.damage) return [accepted, no('SecretsReady', 'SecretsDamaged', view.damage)];
  if (accepted.status !== 'True' && !view.secrets) return [accepted];
  return [
    accepted,
    view.secrets ? yes('SecretsReady') : no('SecretsReady', 'WaitingForSecrets', 'The secrets are being made.'),
    describeMachines(view),
    describeBootstrap(view),
    describeEndpoint(view),
  ];
}

function describeMachines(view: ClusterView): ConditionState {
  if (view.noAddress) return no('MachinesReady', 'NoAddressLeft', view.noAddress);
  const wanted = slotsOf(view);
  const isWanted = ({ metadata }: Machine): boolean => !view.spec || wanted.some(({ name }) => name === metadata.name);
  const expected = view.machines.filter(isWanted);
  const pending = expected.filter((machine) => !isTrue(machine.status?.conditions, 'Ready'));
  const missing = missingSlots(view);
  const surplus = describeSurplus(view.machines.filter((machine) => !isWanted(machine)));
  const total = expected.length + missing.length;
  if (missing.length + pending.length > 0) {
    const parts = [...pending.map(describePending), ...missing.map((slot) => `${slot.name} does not exist yet`)];
    const ready = `${total - pending.length - missing.length} of ${total} are ready.`;
    return no('MachinesReady', 'WaitingForMachines', [ready, `${parts.slice(0, 6).join('; ')}.`, ...surplus].join(' '));
  }
  if (surplus.length > 0) return no('MachinesReady', 'NotSupported', surplus.join(' '));
  return yes('MachinesReady', [`${total} of ${total} are ready.`, ...expected.flatMap(describeRemark)].join(' '));
}

/** What is told of a machine that serves all the same. */
function describeRemark({ metadata, status }: Machine): readonly string[] {
  const remark = findFalse(status?.conditions, 'Healthy');
  return remark ? [`${metadata.name}: ${remark.message}`] : [];
}

function describeSurplus(machines: readonly Machine[]): readonly string[] {
  if (machines.length === 0) return [];
  const names = machines.map(({ metadata }) => metadata.name).join(', ');
  return [`More machines than asked for: ${names}. Taking single machines away is not possible in this release.`];
}

const describePending = (machine: Machine): string => {
  const message = machine.status?.message?.replace(/\.$/, '') || 'has not begun';
  return `${machine.metadata.name}: ${message}`;
};

function describeBootstrap(view: ClusterView): ConditionState {
  if (view.secrets?.bootstrappedAt) return yes('Bootstrapped');
  const message = view.bootstrap?.message ?? 'The first control plane does not answer from its installed system yet.';
  return no('Bootstrapped', 'WaitingForBootstrap', message);
}

function describeEndpoint(view: ClusterView): ConditionState {
  if (view.proof?.ok) return yes('EndpointReachable');
  return no(
    'EndpointReachable',
    'WaitingForEndpoint',
    view.proof?.message ?? 'The API server has not been started yet.',
  );
}
