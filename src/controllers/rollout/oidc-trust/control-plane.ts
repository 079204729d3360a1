import type { ClusterIdentity } from '../../../api/cluster-identity.ts';
import type { Machine } from '../../../api/machine.ts';
import { KubeError } from '../../../kube/errors.ts';
import type { KubeObject, ResourceType } from '../../../kube/resource.ts';
import { type ErrorCode, ProviderError } from '../../../lib/errors.ts';
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
import type { Services } from '../../shared/services.ts';
import { readPersistentConfig, type VirtualAddressState } from './virtual-address.ts';

/** A Pod, as far as it is looked at here. */
interface Pod extends KubeObject {
  status?: { conditions?: { type: string; status: string }[] };
}
const Pod: ResourceType<Pod> = { group: '', version: 'v1', kind: 'Pod', plural: 'pods', namespaced: true };

/** One control plane of a cluster, and how to reach it. */
export interface ControlPlane {
  readonly services: Pick<Services, 'targets'>;
  readonly cluster: ClusterIdentity;
  readonly machine: Machine;
  readonly address: string;
  readonly signal: AbortSignal;
}

/** Something that does not answer, or refuses. */
export interface NodeFailure {
  readonly kind: 'silent';
  readonly message: string;
  readonly code?: ErrorCode;
}

/** A control plane that is to be changed. */
export interface TrustDifference {
  readonly kind: 'differs';
  /** What it is to be given. */
  readonly config: SecretString;
  /** How it stands to the address that the control planes hand around. */
  readonly sharedAddress: VirtualAddressState;
  /** It runs by what was in force before. */
  readonly runsBefore: boolean;
}

/** How a control plane stands to what its API server is to trust. */
export type ControlPlaneTrust =
  | TrustDifference
  /** It has been given it, and its API server does not run by it yet. */
  | { readonly kind: 'waits'; readonly message: string }
  | { readonly kind: 'trusts' }
  | NodeFailure;

/** Asks the node what it has and its API server what it runs by. Changes nothing. */
export async function observeControlPlaneTrust(
  plane: ControlPlane,
  trust: readonly OidcTrust[],
  before: readonly OidcTrust[] | undefined,
): Promise<ControlPlaneTrust> {
  return await queryNode(plane, async (node) => {
    const { config: present, sharedAddress } = await readPersistentConfig(node, plane);
    const config = setOidcTrust(present, trust);
    const runsBefore = before !== undefined && setOidcTrust(present, before) === undefined;
    if (config) return { kind: 'differs', config, sharedAddress, runsBefore };
    const pod = await findApiServerPod(node, plane);
    if (!pod || !(await hasRenderedTrust(node, pod, trust, plane)))
      return { kind: 'waits', message: 'it takes its new configuration in' };
    const message = await findServingProblem(plane, pod);
    return message ? { kind: 'waits', message } : { kind: 'trusts' };
  });
}

/** Why a control plane cannot be relied on while another one's API server restarts; undefined when it can. */
export async function findHealthProblem(plane: ControlPlane): Promise<string | undefined> {
  const look = await queryNode(plane, async (node): Promise<ControlPlaneTrust> => {
    const unwell = await findEtcdProblem(node, plane);
    if (unwell !== undefined) return { kind: 'waits', message: unwell };
    const pod = await findApiServerPod(node, plane);
    const message = pod ? await findServingProblem(plane, pod) : 'it has no API server yet';
    return message ? { kind: 'waits', message } : { kind: 'trusts' };
  });
  return look.kind === 'trusts' || look.kind === 'differs' ? undefined : look.message;
}

/** Whether an API server could run on a node as far as its etcd member goes. */
export async function hasHealthyEtcd(plane: ControlPlane): Promise<boolean> {
  const found = await queryNode(plane, async (node) => (await findEtcdProblem(node, plane)) === undefined);
  return found === true;
}

async function findEtcdProblem(node: TalosClient, plane: ControlPlane): Promise<string | undefined> {
  const { errors, leaderId, learner } = await node.etcdStatus(plane);
  const isWell = errors.length === 0 && !learner && !/^0*$/.test(leaderId);
  return isWell ? undefined : 'its etcd member is not healthy';
}

/** Whether etcd has so many voting members and no other, as this node sees it. */
export async function findMembershipProblem(plane: ControlPlane, count: number): Promise<string | undefined> {
  const look = await queryNode(plane, async (node): Promise<ControlPlaneTrust> => {
    const members = await node.etcdMembers(plane);
    const voting = members.filter(({ learner }) => !learner).length;
    const whole = members.length === count && voting === count;
    return whole ? { kind: 'trusts' } : { kind: 'waits', message: `etcd has ${voting} voting members of ${count}` };
  });
  return 'message' in look ? look.message : undefined;
}

/** Gives a node a configuration that it takes over without a reboot, or not at all; to `try` it is to do so for a minute. */
export async function applyNodeConfig(
  plane: ControlPlane,
  config: SecretString,
  mode: 'no-reboot' | 'try' = 'no-reboot',
): Promise<NodeFailure | undefined> {
  return await queryNode(plane, async (node) => {
    await node.applyConfiguration(config, mode, plane);
    return undefined;
  });
}

/** Asks a node something. Trouble with it is an answer, too. */
export async function queryNode<T>(
  plane: ControlPlane,
  work: (node: TalosClient) => Promise<T>,
): Promise<T | NodeFailure> {
  const node = plane.services.targets.talos(plane.cluster, plane.address);
  try {
    return await work(node);
  } catch (error) {
    plane.signal.throwIfAborted();
    if (error instanceof ProviderError && error.retry !== 'bug')
      return { kind: 'silent', message: error.message.replace(/\.$/, ''), code: error.code };
    throw error;
  } finally {
    await node.close();
  }
}

/** Asked at the node's own address: the mirror Pod is as Talos wants it and ready, and the server says so itself. */
async function findServingProblem(plane: ControlPlane, pod: ApiServerPod): Promise<string | undefined> {
  const url = `https://${toAuthority(plane.address, pod.port)}`;
  const client = await plane.services.targets.nodeClient(plane.cluster, url);
  try {
    // The kubelet adds the name of the node, which is that of the Machine.
    const name = `${pod.name}-${plane.machine.metadata.name}`;
    const mirror = await client.find(Pod, { namespace: 'kube-system', name }, plane.signal);
    const versions = talosAnnotations(mirror?.metadata.annotations ?? {});
    const isCurrent = Object.entries(pod.versions).every(([key, value]) => versions[key] === value);
    const isReady = mirror?.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True');
    if (!isCurrent || !isReady) return 'its API server restarts';
    await client.raw('GET', '/readyz', undefined, plane.signal);
    return undefined;
  } catch (error) {
    plane.signal.throwIfAborted();
    if (error instanceof KubeError || error instanceof ProviderError) return 'its API server does not answer';
    throw error;
  } finally {
    await client.close();
  }
}
