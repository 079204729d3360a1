import { isConditionTrue } from '../../api/conditions.ts';
import type { Machine } from '../../api/machine.ts';
import { externalEndpointUrl } from '../../api/openmcp/types.ts';
import type { Facts } from '../../engine/step.ts';
import { KubeError } from '../../kube/errors.ts';
import type { KubeObject, ResourceType } from '../../kube/resource.ts';
import type { TalosClient } from '../../talos/client/client.ts';
import { clusterOfMachine } from '../cluster/identity.ts';
import { findCluster } from '../cluster/ownership.ts';
import type { ControlPlane } from '../shared/control-planes/control-plane.ts';
import { findHealthProblem } from '../shared/control-planes/health-problems.ts';
import { ensureNodeWatch } from '../shared/nodes/ensure-node-watch.ts';
import type { Services } from '../shared/services.ts';

/** The fields of a Node that are used here. */
interface Node extends KubeObject {
  status?: { nodeInfo?: { bootID?: string } };
}
const Node: ResourceType<Node> = { group: '', version: 'v1', kind: 'Node', plural: 'nodes', namespaced: false };

/** The run of the machine (see `Observation.run`) in which its Node was observed as a member. */
const memberInRunFact = 'memberInRun';

/** Membership of a node in its cluster. */
export interface NodeMembership {
  /**
   * Whether the Node was observed as a member in this run of its machine and has not been missed since. Only then is
   * the Ready condition of the Node sufficient: after a crash it stays True for 40 more seconds.
   */
  isKnown(run: string | undefined): boolean;
  /** Whether the API server of the cluster reports the Node as Ready. */
  isReady(): Promise<boolean>;
  /** Whether the API server of the cluster has answered, so that a Node that is not Ready is known not to be. */
  isClusterObserved(): boolean;
  /** Why a Ready Node is not yet proven to be Ready since the current boot; undefined if it is. */
  whyNotObserved(talos: TalosClient): Promise<string | undefined>;
  /** The facts to record for an observed member. */
  record(run: string | undefined): Facts;
}

export function nodeMembershipOf(
  services: Services,
  machine: Machine,
  facts: Facts,
  signal: AbortSignal,
): NodeMembership {
  const cluster = clusterOfMachine(machine);
  const { name } = machine.metadata;
  const wasJoined = isConditionTrue(machine.status?.conditions, 'Joined');
  return {
    // A Machine from before this fact existed is known by its condition alone.
    isKnown: (run) =>
      wasJoined && (run === undefined || facts[memberInRunFact] === undefined || facts[memberInRunFact] === run),
    isReady: async () => {
      await ensureNodeWatch(services, cluster, signal);
      return services.nodes.isReady(cluster, name);
    },
    isClusterObserved: () => services.nodes.isConnected(cluster),
    whyNotObserved: async (talos) => {
      const stale = await staleBootReason(services, machine, talos, signal);
      if (stale !== undefined || machine.spec.role !== 'controlplane') return stale;
      const controlPlane: ControlPlane = {
        services,
        cluster,
        machine,
        address: String(facts['address'] ?? ''),
        signal,
      };
      const why = await findHealthProblem(controlPlane);
      return why === undefined ? undefined : `The node runs, but ${why}.`;
    },
    record: (run) => (run === undefined ? {} : { [memberInRunFact]: run }),
  };
}

/** Compares the boot id in the Node object with the current boot id of the machine. */
async function staleBootReason(
  services: Services,
  machine: Machine,
  talos: TalosClient,
  signal: AbortSignal,
): Promise<string | undefined> {
  const cluster = clusterOfMachine(machine);
  const url = externalEndpointUrl(findCluster(services.stores, cluster));
  // The first control plane joins before an endpoint is published. It has no earlier boot in the cluster.
  if (url === undefined) return undefined;
  const bootId = await talos.bootId({ signal });
  try {
    const client = await services.targets.client(cluster, url);
    const node = await client.find(Node, { name: machine.metadata.name }, signal);
    if (!node) return 'The node runs, but its cluster has no Node of its name.';
    if (node.status?.nodeInfo?.bootID === bootId) return undefined;
    return 'The node runs, but has not registered this boot in its cluster yet.';
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof KubeError)) throw error;
    return `The node runs, but its Node object cannot be read: ${error.message}`;
  }
}
