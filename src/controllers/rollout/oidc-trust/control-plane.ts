import { KubeError } from '../../../kube/errors.ts';
import type { KubeObject, ResourceType } from '../../../kube/resource.ts';
import { ProviderError } from '../../../lib/errors.ts';
import { toAuthority } from '../../../lib/net/ip.ts';
import type { SecretString } from '../../../lib/secret-string.ts';
import {
  type ApiServerPod,
  findApiServerPod,
  hasRenderedTrust,
  talosAnnotations,
} from '../../../talos/client/api-server-pod.ts';
import type { TalosClient } from '../../../talos/client/client.ts';
import { type OidcTrust, setOidcTrust } from '../../../talos/config/machine-config.ts';
import type { ControlPlane } from './control-plane-target.ts';
import { readPersistentConfig, type VirtualAddressState } from './virtual-address.ts';

/** The fields of a Pod that are used here. */
interface Pod extends KubeObject {
  status?: { conditions?: { type: string; status: string }[] };
}
const Pod: ResourceType<Pod> = { group: '', version: 'v1', kind: 'Pod', plural: 'pods', namespaced: true };

/** A node that does not answer or rejects a request. */
export interface NodeFailure {
  readonly kind: 'silent';
  readonly message: string;
  readonly code?: string;
}

/** A control plane whose configuration differs from the desired trust. */
export interface TrustDifference {
  readonly kind: 'differs';
  /** The configuration to apply. */
  readonly config: SecretString;
  /** Whether it holds the virtual address of the control planes. */
  readonly sharedAddress: VirtualAddressState;
  /** Its current configuration has the previous trust. */
  readonly isEarlierRun: boolean;
}

/** The trust state of a control plane. */
export type ControlPlaneTrust =
  | TrustDifference
  /** The configuration is applied, but its API server does not run with it yet. */
  | { readonly kind: 'waits'; readonly message: string }
  | { readonly kind: 'trusts' }
  | NodeFailure;

/** Compares the configuration of the node and its running API server with the desired trust. Read-only. */
export async function observeControlPlaneTrust(
  controlPlane: ControlPlane,
  trust: readonly OidcTrust[],
  before: readonly OidcTrust[] | undefined,
): Promise<ControlPlaneTrust> {
  return await queryNode(controlPlane, async (node) => {
    const { config: present, sharedAddress } = await readPersistentConfig(node, controlPlane);
    const config = setOidcTrust(present, trust);
    const isEarlierRun = before !== undefined && setOidcTrust(present, before) === undefined;
    if (config) return { kind: 'differs', config, sharedAddress, isEarlierRun };
    const pod = await findApiServerPod(node, controlPlane);
    if (!pod || !(await hasRenderedTrust(node, pod, trust, controlPlane)))
      return { kind: 'waits', message: 'it is applying its new configuration' };
    const message = await findServingProblem(controlPlane, pod);
    return message ? { kind: 'waits', message } : { kind: 'trusts' };
  });
}

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

async function findProblem(
  controlPlane: ControlPlane,
  look: (node: TalosClient) => Promise<string | undefined>,
): Promise<string | undefined> {
  const found = await queryNode(controlPlane, look);
  return typeof found === 'object' ? found.message : found;
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
  const { errors, leaderId, learner } = await node.etcdStatus(controlPlane);
  const isWell = errors.length === 0 && !learner && !/^0*$/.test(leaderId);
  return isWell ? undefined : 'its etcd member is not healthy';
}

/** Whether etcd has exactly `count` voting members and no others, as this node reports it. */
export async function findMembershipProblem(controlPlane: ControlPlane, count: number): Promise<string | undefined> {
  const observation = await queryNode(controlPlane, async (node): Promise<ControlPlaneTrust> => {
    const members = await node.etcdMembers(controlPlane);
    const voting = members.filter(({ learner }) => !learner).length;
    const whole = members.length === count && voting === count;
    return whole ? { kind: 'trusts' } : { kind: 'waits', message: `etcd has ${voting} voting members of ${count}` };
  });
  return 'message' in observation ? observation.message : undefined;
}

/** Applies a configuration without a reboot, or fails. Mode `try`: Talos reverts it after one minute. */
export async function applyNodeConfig(
  controlPlane: ControlPlane,
  config: SecretString,
  mode: 'no-reboot' | 'try' = 'no-reboot',
): Promise<NodeFailure | undefined> {
  return await queryNode(controlPlane, async (node) => {
    await node.applyConfiguration(config, mode, controlPlane);
    return undefined;
  });
}

/** Sends requests to a node. Errors of the node become a NodeFailure. */
export async function queryNode<T>(
  controlPlane: ControlPlane,
  work: (node: TalosClient) => Promise<T>,
): Promise<T | NodeFailure> {
  const node = controlPlane.services.targets.talos(controlPlane.cluster, controlPlane.address);
  try {
    return await work(node);
  } catch (error) {
    controlPlane.signal.throwIfAborted();
    if (error instanceof ProviderError && error.retry !== 'bug')
      return { kind: 'silent', message: error.message.replace(/\.$/, ''), code: error.code };
    throw error;
  } finally {
    await node.close();
  }
}

/** Asks at the node's own address: the mirror Pod has the current version and is Ready, and `/readyz` succeeds. */
async function findServingProblem(controlPlane: ControlPlane, pod: ApiServerPod): Promise<string | undefined> {
  const url = `https://${toAuthority(controlPlane.address, pod.port)}`;
  const client = await controlPlane.services.targets.nodeClient(controlPlane.cluster, url);
  try {
    // The kubelet appends the name of the node, which is the name of the Machine.
    const name = `${pod.name}-${controlPlane.machine.metadata.name}`;
    const mirror = await client.find(Pod, { namespace: 'kube-system', name }, controlPlane.signal);
    const versions = talosAnnotations(mirror?.metadata.annotations ?? {});
    const isCurrent = Object.entries(pod.versions).every(([key, value]) => versions[key] === value);
    const isReady = mirror?.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True');
    if (!isCurrent || !isReady) return 'its API server restarts';
    await client.raw('GET', '/readyz', undefined, controlPlane.signal);
    return undefined;
  } catch (error) {
    controlPlane.signal.throwIfAborted();
    if (error instanceof KubeError || error instanceof ProviderError) return 'its API server does not answer';
    throw error;
  } finally {
    await client.close();
  }
}
