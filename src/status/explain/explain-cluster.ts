import { isConditionTrue } from '../../api/conditions.ts';
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
  const cause = findings.at(-1);
  const since = metadata.deletionTimestamp ?? readyCondition(conditions)?.lastTransitionTime;
  return {
    ...about,
    state: stateTexts[assessCluster(cluster, around.machines).health],
    isReady,
    ...(since ? { since } : {}),
    findings,
    nextStep: cause ? nextStepFor(cause.reason) : 'Nothing.',
    ...(cause ? { guide: guideOf(cause.object.kind) } : {}),
  };
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
