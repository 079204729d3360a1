import type { KubeClient } from '../../../kube/client/client.ts';
import { KubeError } from '../../../kube/errors.ts';
import { ProviderError } from '../../../lib/errors.ts';
import { toAuthority } from '../../../lib/net/ip.ts';
import { type ApiServerPod, findApiServerPod } from '../../../talos/client/api-server-pod.ts';
import type { TalosClient } from '../../../talos/client/client.ts';
import { isHealthyMember } from '../../../talos/client/etcd-calls.ts';
import type { ControlPlane } from './control-plane.ts';
import { isMirrorPodCurrent } from './mirror-pod.ts';
import { queryNode } from './query-node.ts';

/** Why a control plane is not healthy enough for a restart of another API server; undefined if it is. */
export async function findHealthProblem(controlPlane: ControlPlane): Promise<string | undefined> {
  return await findProblem(controlPlane, async (node) => {
    const unhealthy = await findEtcdProblem(node, controlPlane);
    return unhealthy ?? (await findPodProblem(node, controlPlane));
  });
}

/** The same without etcd. */
export async function findApiServerProblem(controlPlane: ControlPlane): Promise<string | undefined> {
  return await findProblem(controlPlane, (node) => findPodProblem(node, controlPlane));
}

async function findPodProblem(node: TalosClient, controlPlane: ControlPlane): Promise<string | undefined> {
  const pod = await findApiServerPod(node, controlPlane);
  return pod ? await findServingProblem(controlPlane, pod) : 'it has no API server yet';
}

/** Whether the etcd member of a node is healthy, so that its API server can run. */
export async function hasHealthyEtcd(controlPlane: ControlPlane): Promise<boolean> {
  const found = await queryNode(
    controlPlane,
    async (node) => (await findEtcdProblem(node, controlPlane)) === undefined,
  );
  return found === true;
}

async function findEtcdProblem(node: TalosClient, controlPlane: ControlPlane): Promise<string | undefined> {
  const status = await node.etcdStatus(controlPlane);
  return isHealthyMember(status) && !status.learner ? undefined : 'its etcd member is not healthy';
}

/** Whether etcd has exactly `count` voting members and no others, as this node reports it. */
export async function findMembershipProblem(controlPlane: ControlPlane, count: number): Promise<string | undefined> {
  return await findProblem(controlPlane, async (node) => {
    const members = await node.etcdMembers(controlPlane);
    const voting = members.filter(({ learner }) => !learner).length;
    const isWhole = members.length === count && voting === count;
    return isWhole ? undefined : `etcd has ${voting} voting members of ${count}`;
  });
}

/** What the node reports; a node that does not answer is a problem as well. */
async function findProblem(
  controlPlane: ControlPlane,
  look: (node: TalosClient) => Promise<string | undefined>,
): Promise<string | undefined> {
  const found = await queryNode(controlPlane, look);
  return typeof found === 'object' ? found.message : found;
}

/** The usual port of the API server; another one can be configured. */
const usualPort = 6443;

/** Whether the API server answers that it is ready, at the usual port of the node's own address. */
export const isServing = async (controlPlane: ControlPlane): Promise<boolean> =>
  (await askApiServer(controlPlane, usualPort, async () => undefined)) === undefined;

/** Asks at the node's own address: the mirror Pod has the current version and is Ready, and `/readyz` succeeds. */
export const findServingProblem = (controlPlane: ControlPlane, pod: ApiServerPod): Promise<string | undefined> =>
  askApiServer(controlPlane, pod.port, async (client) => {
    // The name of a node is that of its Machine.
    const { name } = controlPlane.machine.metadata;
    const isCurrent = await isMirrorPodCurrent(client, name, pod, controlPlane.signal);
    return isCurrent ? undefined : 'its API server restarts';
  });

/** The problem that `look` finds at the API server of a node, or that this server is not ready. */
async function askApiServer(
  { services, cluster, address, signal }: ControlPlane,
  port: number,
  look: (client: KubeClient) => Promise<string | undefined>,
): Promise<string | undefined> {
  try {
    return await services.targets.atApiServer(cluster, `https://${toAuthority(address, port)}`, async (client) => {
      const problem = await look(client);
      if (problem === undefined) await client.raw('GET', '/readyz', undefined, signal);
      return problem;
    });
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof KubeError || error instanceof ProviderError) return 'its API server does not answer';
    throw error;
  }
}
