import { type Condition, isConditionTrue } from '../../api/conditions.ts';
import type { Machine } from '../../api/machine.ts';
import type { Cluster } from '../../api/openmcp/types.ts';
import type { ProviderConfig } from '../../api/provider-config.ts';
import { compareMachines } from '../../controllers/cluster/view.ts';
import { assessCluster, firstFalse, isStuckMachine } from '../views/cluster-health.ts';
import { explainMachine, findingOfMachine, machineRef } from './explain-machine.ts';
import {
  type ExplainSources,
  type ExplanationJson,
  type FindingJson,
  findCause,
  guideOf,
  guideToRestore,
  guideToSilence,
  type ObjectJson,
  readyCondition,
  toFinding,
} from './explanation.ts';
import { nextStepFor } from './next-steps.ts';

/** A Cluster and what it may wait for. */
export interface ClusterSurroundings extends ExplainSources {
  /** The Machines of this Cluster. */
  readonly machines: readonly Machine[];
  /** The ProviderConfig of its profile, if there is one. */
  readonly config: ProviderConfig | undefined;
}

const clusterRef = ({ metadata }: Cluster): ObjectJson => ({
  kind: 'Cluster',
  ...(metadata.namespace ? { namespace: metadata.namespace } : {}),
  name: metadata.name,
});

const stateTexts = {
  unhealthy: 'not ready, although its API server has answered before',
  attention: 'ready, and something about it is not as it should be',
  creating: 'being created',
  deleting: 'being deleted',
  ready: 'ready',
} as const;

/** What a Cluster waits for: the Machine or the ProviderConfig that holds it up, or its own condition. */
export function explainCluster(around: ClusterSurroundings, cluster: Cluster): ExplanationJson {
  const { metadata, spec, status } = cluster;
  const conditions = status?.conditions ?? [];
  const about = { object: clusterRef(cluster), is: `a cluster of profile ${spec.profile}` };
  if (conditions.length === 0) return explainSilence(around, cluster, about);
  const isReady = isConditionTrue(conditions, 'Ready') && !metadata.deletionTimestamp;
  const findings = findFindings(around, cluster);
  const { health } = assessCluster(cluster, around.machines);
  const since = metadata.deletionTimestamp ?? readyCondition(conditions)?.lastTransitionTime;
  return {
    ...about,
    state: stateTexts[health],
    isReady,
    ...(since ? { since } : {}),
    findings,
    ...adviseOn(findings.at(-1), health === 'unhealthy' && mayLackQuorum(around.machines, conditions)),
  };
}

function adviseOn(cause: FindingJson | undefined, lacksQuorum: boolean): Pick<ExplanationJson, 'nextStep' | 'guide'> {
  if (!cause) return { nextStep: 'Nothing.' };
  const { object, condition, reason } = cause;
  if (condition === 'EtcdRestored') return { nextStep: nextStepFor(reason), guide: guideToRestore };
  // A node without its data waits for etcd as a node in creation does, but in vain.
  const isWaiting = reason === 'StepWaiting' || reason === 'WaitingForEndpoint';
  if (lacksQuorum && isWaiting) return { nextStep: quorumStep, guide: guideToRestore };
  return { nextStep: nextStepFor(reason), guide: guideOf(object.kind) };
}

const quorumStep =
  'Nothing at first. If the control planes do not work again by themselves, repair them, or restore etcd from a backup.';

/** The API server does not answer, and no majority of the control planes is ready. */
function mayLackQuorum(machines: readonly Machine[], conditions: readonly Condition[]): boolean {
  const members = machines.filter(({ spec }) => spec.role === 'controlplane');
  const ready = members.filter(({ status }) => isConditionTrue(status?.conditions, 'Ready'));
  return !isConditionTrue(conditions, 'EndpointReachable') && ready.length * 2 <= members.length;
}

/** The Cluster has no conditions yet. */
function explainSilence(
  { config }: ClusterSurroundings,
  { metadata, spec }: Cluster,
  about: Pick<ExplanationJson, 'object' | 'is'>,
): ExplanationJson {
  return {
    ...about,
    state: 'not reconciled yet',
    isReady: false,
    ...(metadata.creationTimestamp ? { since: metadata.creationTimestamp } : {}),
    findings: [],
    nextStep: config
      ? 'Check that the provider runs and has a leader.'
      : `Check spec.profile: no ProviderConfig of this provider has the profile ${spec.profile}.`,
    guide: guideToSilence,
  };
}

function findFindings(around: ClusterSurroundings, cluster: Cluster): readonly FindingJson[] {
  const conditions = cluster.status?.conditions ?? [];
  // While a restore is wanted or running, everything else waits for it.
  const restore = conditions.find(({ type, status }) => type === 'EtcdRestored' && status === 'False');
  if (restore && !cluster.metadata.deletionTimestamp) return [toFinding(clusterRef(cluster), restore)];
  const condition =
    findCause(conditions) ??
    firstFalse(conditions) ??
    conditions.find(({ type, status }) => type === 'UpToDate' && status === 'False');
  if (!condition) return cluster.metadata.deletionTimestamp ? findingsOfMachines(around) : [];
  const own = toFinding(clusterRef(cluster), condition);
  return [own, ...findInnerFindings(around, own)];
}

/** Reasons that a Machine explains better, if there is one that is not ready. */
const machineReasons: ReadonlySet<string | undefined> = new Set([
  'WaitingForMachines',
  'WaitingForBootstrap',
  'WaitingForDeletion',
]);

function findInnerFindings(around: ClusterSurroundings, { condition, reason }: FindingJson): readonly FindingJson[] {
  const { config, machines } = around;
  // Others need the Cluster: no Machine is deleted before they let it go.
  if (condition === 'ForeignFinalizersGone') return [];
  if (reason === 'ProviderConfigNotReady' && config) {
    const condition = findCause(config.status?.conditions);
    return condition ? [toFinding({ kind: 'ProviderConfig', name: config.metadata.name }, condition)] : [];
  }
  // The API server is silent for reasons of its own unless a control plane has stopped.
  const isStopped = reason === 'WaitingForEndpoint' && machines.some(isStuckMachine);
  return machineReasons.has(reason) || isStopped ? findingsOfMachines(around) : [];
}

/** The Machine that a user has to look at; otherwise the first one that is not ready. */
function findingsOfMachines(around: ClusterSurroundings): readonly FindingJson[] {
  const waiting = around.machines
    .filter(({ metadata, status }) => metadata.deletionTimestamp || !isConditionTrue(status?.conditions, 'Ready'))
    .toSorted(compareMachines);
  const machine = waiting.find(isStuckMachine) ?? waiting[0];
  if (!machine) return [];
  const finding = findingOfMachine(around, machine);
  if (finding) return [finding];
  const { state, since } = explainMachine(around, machine);
  return [{ object: machineRef(machine), message: `It is ${state}.`, ...(since ? { since } : {}) }];
}
