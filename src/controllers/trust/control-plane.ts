import type { Machine } from '../../api/machine.ts';
import type { NamespacedRef } from '../../api/openmcp.ts';
import { KubeError } from '../../kube/errors.ts';
import type { KubeObject, ResourceType } from '../../kube/resource.ts';
import { ProviderError } from '../../lib/errors.ts';
import type { Secret } from '../../lib/secret.ts';
import type { TalosClient } from '../../talos/api.ts';
import {
  type ApiServerPod,
  findApiServerPod,
  isRendered,
  readMachineConfig,
  talosNotes,
} from '../../talos/api-server.ts';
import { changeTrust, type OidcTrust } from '../../talos/machine-config.ts';
import type { Services } from '../services.ts';

/** A Pod, as far as it is looked at here. */
interface Pod extends KubeObject {
  status?: { conditions?: { type: string; status: string }[] };
}
const Pod: ResourceType<Pod> = { group: '', version: 'v1', kind: 'Pod', plural: 'pods', namespaced: true };

/** One control plane of a cluster, and how to reach it. */
export interface ControlPlane {
  readonly services: Pick<Services, 'targets'>;
  readonly cluster: NamespacedRef;
  readonly machine: Machine;
  readonly address: string;
  readonly signal: AbortSignal;
}

/** How a control plane stands to what its API server is to trust. */
export type Look =
  /** It has this configuration to be given. */
  | { readonly kind: 'differs'; readonly config: Secret }
  /** It has been given it, and its API server does not run by it yet. */
  | { readonly kind: 'waits'; readonly message: string }
  | { readonly kind: 'trusts' }
  | { readonly kind: 'silent'; readonly message: string };

/** Asks the node what it has and its API server what it runs by. Changes nothing. */
export async function lookAt(plane: ControlPlane, trust: readonly OidcTrust[]): Promise<Look> {
  return await onNode(plane, async (node) => {
    const config = changeTrust(await readMachineConfig(node, plane), trust);
    if (config) return { kind: 'differs', config };
    const pod = await findApiServerPod(node, plane);
    if (!pod || !(await isRendered(node, pod, trust, plane)))
      return { kind: 'waits', message: 'it takes its new configuration in' };
    const message = await whyNotServing(plane, pod);
    return message ? { kind: 'waits', message } : { kind: 'trusts' };
  });
}

/** Why a control plane cannot be relied on while another one's API server restarts; undefined when it can. */
export async function whyNotHealthy(plane: ControlPlane): Promise<string | undefined> {
  const look = await onNode(plane, async (node): Promise<Look> => {
    const { errors, leaderId, learner } = await node.etcdStatus(plane);
    if (errors.length > 0 || learner || /^0*$/.test(leaderId))
      return { kind: 'waits', message: 'its etcd member is not healthy' };
    const pod = await findApiServerPod(node, plane);
    const message = pod ? await whyNotServing(plane, pod) : 'it has no API server yet';
    return message ? { kind: 'waits', message } : { kind: 'trusts' };
  });
  return look.kind === 'trusts' || look.kind === 'differs' ? undefined : look.message;
}

/** Whether etcd has so many voting members and no other, as this node sees it. */
export async function whyIncomplete(plane: ControlPlane, count: number): Promise<string | undefined> {
  const look = await onNode(plane, async (node): Promise<Look> => {
    const members = await node.etcdMembers(plane);
    const voting = members.filter(({ learner }) => !learner).length;
    const whole = members.length === count && voting === count;
    return whole ? { kind: 'trusts' } : { kind: 'waits', message: `etcd has ${voting} voting members of ${count}` };
  });
  return 'message' in look ? look.message : undefined;
}

/** Gives a node a configuration that it takes over without a reboot, or not at all. */
export async function applyTo(plane: ControlPlane, config: Secret): Promise<string | undefined> {
  const look = await onNode(plane, async (node): Promise<Look> => {
    await node.applyConfiguration(config, 'no-reboot', plane);
    return { kind: 'trusts' };
  });
  return 'message' in look ? look.message : undefined;
}

async function onNode(plane: ControlPlane, work: (node: TalosClient) => Promise<Look>): Promise<Look> {
  const node = plane.services.targets.talos(plane.cluster, plane.address);
  try {
    return await work(node);
  } catch (error) {
    plane.signal.throwIfAborted();
    if (error instanceof ProviderError && error.retry !== 'bug')
      return { kind: 'silent', message: error.message.replace(/\.$/, '') };
    throw error;
  } finally {
    await node.close();
  }
}

/** Asked at the node's own address: the mirror Pod is as Talos wants it and ready, and the server says so itself. */
async function whyNotServing(plane: ControlPlane, pod: ApiServerPod): Promise<string | undefined> {
  const url = `https://${plane.address.includes(':') ? `[${plane.address}]` : plane.address}:${pod.port}`;
  const client = await plane.services.targets.nodeClient(plane.cluster, url);
  try {
    // The kubelet adds the name of the node, which is that of the Machine.
    const name = `${pod.name}-${plane.machine.metadata.name}`;
    const mirror = await client.find(Pod, { namespace: 'kube-system', name }, plane.signal);
    const versions = talosNotes(mirror?.metadata.annotations ?? {});
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
