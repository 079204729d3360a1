import type { KubeClient } from '../../../kube/client/client.ts';
import type { KubeObject, ResourceType } from '../../../kube/resource.ts';
import { type ApiServerPod, talosAnnotations } from '../../../talos/client/api-server-pod.ts';

/** The fields of a Pod that are used here. */
interface Pod extends KubeObject {
  status?: { conditions?: { type: string; status: string }[] };
}
const Pod: ResourceType<Pod> = { group: '', version: 'v1', kind: 'Pod', plural: 'pods', namespaced: true };

/** Whether the mirror Pod of a static Pod has the versions that Talos has rendered for it on this node, and is Ready. */
export async function isMirrorPodCurrent(
  client: KubeClient,
  node: string,
  pod: ApiServerPod,
  signal: AbortSignal,
): Promise<boolean> {
  // The kubelet appends the name of the node.
  const mirror = await client.find(Pod, { namespace: 'kube-system', name: `${pod.name}-${node}` }, signal);
  const versions = talosAnnotations(mirror?.metadata.annotations ?? {});
  const isCurrent = Object.entries(pod.versions).every(([key, value]) => versions[key] === value);
  const isReady = mirror?.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True');
  return isCurrent && isReady === true;
}
