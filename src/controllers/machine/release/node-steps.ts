import type { Machine } from '../../../api/machine.ts';
import { type Cluster, externalEndpointUrl } from '../../../api/openmcp/types.ts';
import { RolloutSchema } from '../../../api/schema/rollout-schema.ts';
import { done, type Facts, type Step, type StepOutcome, waitWithReason } from '../../../engine/step.ts';
import type { KubeClient } from '../../../kube/client/client.ts';
import { NodeRow } from '../../../kube/core-types.ts';
import { type DrainPolicy, drainNode } from '../../../kube/drain/drain-node.ts';
import { Node } from '../../../kube/drain/kinds.ts';
import { KubeError } from '../../../kube/errors.ts';
import { ProviderError } from '../../../lib/errors.ts';
import type { TalosStepContext } from '../../../talos/join-steps.ts';
import { clusterOfMachine } from '../../cluster/identity.ts';
import { findProviderConfig, machinesOfCluster } from '../../cluster/view.ts';
import type { Services } from '../../shared/services.ts';
import { resolveDesiredSpec } from '../../shared/spec/desired-spec.ts';
import {
  applyApproval,
  approvalHint,
  findRemainingCluster,
  hasRunInstalledSystem,
  readRemainingSecrets,
} from './remaining-cluster.ts';

/** When the drain began, for its timeout. */
const drainStartedFact = 'drainStarted';
/** UID of the Node that was recognised as that of this machine while it was still held. */
const nodeUidFact = 'nodeUid';

/** A user who approves one of these has agreed that the Pods do not move in order. */
const drainReasons = ['DrainBlocked', 'Draining', 'DrainTimedOut', 'VolumesAttached'];
/** Until the next pass. A PodDisruptionBudget needs time, the end of a Pod does not. */
const blockedSeconds = 15;
const progressSeconds = 5;

/** A Machine in deletion whose Cluster remains, and its access to the API server. */
interface NodeTask {
  readonly services: Services;
  readonly machine: Machine;
  readonly cluster: Cluster;
  readonly client: KubeClient;
  readonly facts: Facts;
  readonly signal: AbortSignal;
}

/**
 * Before: the node may run Pods. After: they have moved in order. Done without a drain when they have nowhere to go, or
 * when the machine has no Node.
 */
export const drainNodeStep = (services: Services, machine: Machine): Step<TalosStepContext> => ({
  name: 'node-drained',
  async run(context) {
    const outcome = await onRemainingCluster(services, machine, context, drainOwnNode);
    return applyApproval(services, machine, outcome, drainReasons);
  },
});

/**
 * Before: the machine is off or erased, as the steps of its platform have proven. After: its Node is gone, so that its
 * Pods and volumes are free and a successor of the same name starts with a new Node.
 */
export const deleteNodeStep = (services: Services, machine: Machine): Step<TalosStepContext> => ({
  name: 'node-deleted',
  async run(context) {
    return applyApproval(services, machine, await onRemainingCluster(services, machine, context, deleteOwnNode));
  },
});

async function onRemainingCluster(
  services: Services,
  machine: Machine,
  { facts, signal }: TalosStepContext,
  work: (task: NodeTask) => Promise<StepOutcome>,
): Promise<StepOutcome> {
  if (!hasRunInstalledSystem(machine) || isOnlyControlPlane(services, machine)) return done();
  const cluster = await findRemainingCluster(services, machine, signal);
  const url = externalEndpointUrl(cluster);
  // No endpoint was ever published: the API server has never answered.
  if (!cluster || url === undefined) return done();
  const secrets = await readRemainingSecrets(services, { cluster, machine }, signal);
  if (secrets.kind === 'unusable') {
    const { reason, message } = secrets.problem;
    return waitWithReason(reason, 60, `${message} ${approvalHint(reason)}`);
  }
  try {
    const client = await services.targets.client(clusterOfMachine(machine), url);
    return await work({ services, machine, cluster, client, facts, signal });
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof KubeError) && !(error instanceof ProviderError)) throw error;
    const message = `The API server of the cluster does not answer as needed: ${error.message}.`;
    return waitWithReason('ApiServerSilent', blockedSeconds, `${message} ${approvalHint('ApiServerSilent')}`);
  }
}

/** Without it there is no API server, and nothing would place the Pods elsewhere. */
const isOnlyControlPlane = (services: Services, machine: Machine): boolean =>
  machine.spec.role === 'controlplane' &&
  !machinesOfCluster(services, clusterOfMachine(machine)).some(
    ({ spec, metadata }) => spec.role === 'controlplane' && metadata.name !== machine.metadata.name,
  );

async function drainOwnNode(task: NodeTask): Promise<StepOutcome> {
  const { services, machine, client, signal } = task;
  const name = machine.metadata.name;
  const node = await client.find(Node, { name }, signal);
  if (!node || !isOwnNode(node, task.facts)) return done();
  const { items: nodes } = await client.list(NodeRow, {}, signal);
  const now = services.clock.now();
  const started = task.facts[drainStartedFact] ?? now.toISOString();
  const facts = { [drainStartedFact]: started, ...(node.metadata.uid && { [nodeUidFact]: node.metadata.uid }) };
  if (nodes.every(({ metadata }) => metadata.name === name)) return done(facts);
  const result = await drainNode(client, {
    node: name,
    policy: drainPolicyOf(task),
    startedAt: new Date(String(started)),
    now,
    isUnreachable: readyStatusOf(node) === 'Unknown',
    signal,
  });
  if (result.kind === 'drained') return done(facts);
  const { reason, message } = result;
  const seconds = reason === 'Draining' || reason === 'VolumesAttached' ? progressSeconds : blockedSeconds;
  return { kind: 'wait', reason, seconds, message: `${message} ${approvalHint(reason)}`, facts };
}

async function deleteOwnNode({ machine, client, facts, signal }: NodeTask): Promise<StepOutcome> {
  const { name } = machine.metadata;
  const node = await client.find(Node, { name }, signal);
  if (!node || !isOwnNode(node, facts)) return done();
  // Its kubelet was alive less than a minute ago. If it stays Ready, another machine has taken the name.
  if (readyStatusOf(node) === 'True') {
    const message = `The machine is released, and its Node ${name} still is Ready. It is deleted when it no longer is.`;
    return waitWithReason('NodeStillReady', progressSeconds, `${message} ${approvalHint('NodeStillReady')}`);
  }
  await client.remove(Node, { name }, node.metadata.uid ? { uid: node.metadata.uid } : {}, signal);
  return done();
}

/** By the UID that was recorded while the machine was held; before that by an address that its facts name. */
function isOwnNode({ metadata, status }: Node, facts: Facts): boolean {
  if (facts[nodeUidFact] !== undefined) return metadata.uid === facts[nodeUidFact];
  const addresses = (status?.addresses ?? []).filter(({ type }) => type === 'InternalIP' || type === 'ExternalIP');
  // On some platforms a node registers with a private address, which is another fact.
  return addresses.some(({ address }) => Object.values(facts).includes(address));
}

const readyStatusOf = ({ status }: Node): string | undefined =>
  status?.conditions?.find(({ type }) => type === 'Ready')?.status;

/** That of the ProviderConfig of the Cluster; the default if it does not exist any more or is invalid. */
function drainPolicyOf({ services, cluster }: NodeTask): DrainPolicy {
  const config = findProviderConfig(services, cluster);
  const desired = config && resolveDesiredSpec(services, config, cluster);
  return desired && 'spec' in desired ? desired.spec.rollout.drain : RolloutSchema.parse({}).drain;
}
