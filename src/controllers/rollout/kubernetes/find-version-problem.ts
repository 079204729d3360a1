import type { ClusterIdentity } from '../../../api/cluster-identity.ts';
import type { Machine } from '../../../api/machine.ts';
import { externalEndpointUrl } from '../../../api/openmcp/types.ts';
import type { KubeClient } from '../../../kube/client/client.ts';
import { KubeError } from '../../../kube/errors.ts';
import type { KubeObject, ResourceType } from '../../../kube/resource.ts';
import { ProviderError } from '../../../lib/errors.ts';
import { findStaticPod } from '../../../talos/client/api-server-pod.ts';
import { withoutLeadingV } from '../../../talos/versions.ts';
import { findCluster } from '../../cluster/ownership.ts';
import { isMirrorPodCurrent } from '../../shared/control-planes/mirror-pod.ts';
import type { Services } from '../../shared/services.ts';
import { isControlPlane } from './versions.ts';

interface Node extends KubeObject {
  status?: { nodeInfo?: { kubeletVersion?: string } };
}
const Node: ResourceType<Node> = { group: '', version: 'v1', kind: 'Node', plural: 'nodes', namespaced: false };

export interface VersionTarget {
  readonly services: Pick<Services, 'stores' | 'targets'>;
  readonly cluster: ClusterIdentity;
  readonly machine: Machine;
  readonly address: string;
  readonly signal: AbortSignal;
}

/**
 * Why the node does not run the versions of its Machine yet: Talos replaces a kubelet or a static Pod some seconds after it
 * has accepted the configuration, and until then the former one is ready. The API server is proven in another place.
 */
export async function findVersionProblem(target: VersionTarget): Promise<string | undefined> {
  const { services, cluster, machine, signal } = target;
  const url = externalEndpointUrl(findCluster(services.stores, cluster));
  if (url === undefined) return undefined;
  try {
    const client = await services.targets.client(cluster, url);
    const wanted = machine.spec.kubernetesVersion;
    const node = await client.find(Node, { name: machine.metadata.name }, signal);
    const version = withoutLeadingV(node?.status?.nodeInfo?.kubeletVersion ?? '');
    // Builds of the kubelet can add a suffix.
    if (version !== wanted && !version.startsWith(`${wanted}-`) && !version.startsWith(`${wanted}+`))
      return `Its kubelet runs ${version === '' ? 'no known version' : version} and is to run ${wanted}.`;
    return isControlPlane(machine) ? await findPodProblem(target, client) : undefined;
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof KubeError || (error instanceof ProviderError && error.retry !== 'bug')) return error.message;
    throw error;
  }
}

const podNames = ['kube-controller-manager', 'kube-scheduler'];

/** The mirror Pod has the version of the configuration that Talos has rendered for it, and is ready. */
async function findPodProblem(
  { services, cluster, machine, address, signal }: VersionTarget,
  client: KubeClient,
): Promise<string | undefined> {
  const node = services.targets.talos(cluster, address);
  try {
    for (const component of podNames) {
      const pod = await findStaticPod(node, component, { signal });
      // A patch can disable it.
      if (!pod) continue;
      const isCurrent = await isMirrorPodCurrent(client, machine.metadata.name, pod, signal);
      if (!isCurrent) return `Its ${component} restarts.`;
    }
    return undefined;
  } finally {
    await node.close();
  }
}
