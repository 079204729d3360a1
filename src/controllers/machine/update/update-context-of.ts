import { Machine } from '../../../api/machine.ts';
import { annotations } from '../../../api/names.ts';
import { externalEndpointUrl } from '../../../api/openmcp/types.ts';
import type { Facts } from '../../../engine/step.ts';
import type { KubeClient } from '../../../kube/client/client.ts';
import { drainNode, uncordonNode } from '../../../kube/drain/drain-node.ts';
import { Node } from '../../../kube/drain/kinds.ts';
import { KubeError } from '../../../kube/errors.ts';
import {
  type DesiredNode,
  type DrainProgress,
  isUndisturbed,
  type UpdateStepContext,
  updateFacts,
} from '../../../talos/update/update-context.ts';
import { clusterOfMachine } from '../../cluster/identity.ts';
import { findCluster } from '../../cluster/ownership.ts';
import { findSecretsState, machinesOfCluster } from '../../cluster/view.ts';
import { findMachineProblem } from '../../rollout/authorities/verify-machine.ts';
import { findVersionProblem } from '../../rollout/kubernetes/find-version-problem.ts';
import { findHealthProblem } from '../../shared/control-planes/health-problems.ts';
import { moveVirtualAddressFrom } from '../../shared/control-planes/release-virtual-address.ts';
import type { Services } from '../../shared/services.ts';
import { nodeMembershipOf } from '../node-membership.ts';
import type { MachineTask } from '../reconcile/machine-task.ts';
import { approvalsOf } from '../repair/approvals.ts';
import type { StepEnvironment } from '../step-environment.ts';

/** The context of the steps that change a running node. */
export function updateContextOf(
  task: MachineTask,
  { spec, context, compareHardware }: StepEnvironment,
  desired: DesiredNode,
): (facts: Facts) => UpdateStepContext {
  const { services, machine } = task;
  const { signal } = task.context;
  const node = machine.metadata.name;
  return (facts) => ({
    ...context(facts),
    desired,
    isOnlyNode: machinesOfCluster(services, clusterOfMachine(machine)).length === 1,
    drain: (startedAt) =>
      inCluster(task, async (client) => {
        const policy = spec.rollout.drain;
        const isUnreachable = await isKubeletAway(client, node, signal);
        return await drainNode(client, { node, policy, startedAt, now: services.clock.now(), isUnreachable, signal });
      }),
    uncordon: () =>
      inCluster(task, async (client) => {
        await uncordonNode(client, node, signal);
        return { kind: 'drained' };
      }),
    moveVirtualAddress: () => moveVirtualAddressFrom(services, machine, signal),
    ...(compareHardware && { compareHardware: () => compareHardware(facts) }),
    takeApproval: (reason) => takeApproval(task, reason),
    findProblem: () => findMemberProblem(task, facts),
  });
}

/** Works at the API server of the cluster, which may be silent while one of its control planes restarts. */
async function inCluster(
  { services, machine, context: { signal } }: MachineTask,
  work: (client: KubeClient) => Promise<DrainProgress>,
): Promise<DrainProgress> {
  const cluster = clusterOfMachine(machine);
  const url = externalEndpointUrl(findCluster(services.stores, cluster));
  if (url === undefined)
    return {
      kind: 'waiting',
      reason: 'WaitingForCluster',
      message: 'The endpoint of the cluster is not published yet.',
    };
  try {
    return await work(await services.targets.client(cluster, url));
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof KubeError)) throw error;
    const message = `The API server of the cluster cannot be asked: ${error.message}`;
    return { kind: 'waiting', reason: 'WaitingForCluster', message };
  }
}

/** A kubelet that is away cannot report the end of its Pods. */
async function isKubeletAway(client: KubeClient, name: string, signal: AbortSignal): Promise<boolean> {
  const found = await client.find(Node, { name }, signal);
  return found?.status?.conditions?.find(({ type }) => type === 'Ready')?.status === 'Unknown';
}

/** Removes the reason from the annotation, so that it approves one attempt only. */
async function takeApproval({ services, machine, context }: MachineTask, reason: string): Promise<boolean> {
  const { approved } = approvalsOf(machine);
  if (!approved.includes(reason)) return false;
  const left = approved.filter((one) => one !== reason).join(',');
  const patch = { metadata: { annotations: { [annotations.approve]: left === '' ? null : left } } };
  const written = await services.kube.merge(Machine, { name: machine.metadata.name }, patch, {}, context.signal);
  machine.metadata = written.metadata;
  services.events.record(machine, 'Warning', 'ContinuedAsApproved', `${reason}: the update goes on, as approved.`);
  return true;
}

/** Why the node is not a healthy member of its cluster. */
async function findMemberProblem(
  { services, machine, context: { signal } }: MachineTask,
  facts: Facts,
): Promise<string | undefined> {
  if (!(await nodeMembershipOf(services, machine, facts, signal).isReady()))
    return 'The cluster does not report the node as Ready.';
  const target = { services, cluster: clusterOfMachine(machine), machine, address: String(facts['address']), signal };
  const isUntouched = isUndisturbed(facts) && facts[updateFacts.restartsApi] === false;
  const why = machine.spec.role === 'controlplane' && !isUntouched ? await findHealthProblem(target) : undefined;
  if (why !== undefined) return `The node runs, but ${why}.`;
  // Without an image that the node may lack, no component gets another version.
  const hasNewPods = facts[updateFacts.needsImages] !== false || facts[updateFacts.restartsControllers] === true;
  const problem = hasNewPods ? await findVersionProblem(target) : undefined;
  return problem ?? (await findAuthorityProblem(services, machine, signal));
}

/** Talos uses other authorities some moments after it has activated them; the next node waits for that. */
async function findAuthorityProblem(
  services: Services,
  machine: Machine,
  signal: AbortSignal,
): Promise<string | undefined> {
  const ref = clusterOfMachine(machine);
  const state = findSecretsState(services, ref);
  const { rotation, bundle } = state?.kind === 'usable' ? state.secrets : {};
  return rotation && bundle && (await findMachineProblem(services, { ref, bundle, rotation }, machine, signal));
}
