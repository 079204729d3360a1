import type { TalosNode } from '../node.ts';
import { type ClusterNodes, healthChecks } from './health-checks.ts';

/** The result of one check. */
export type HealthVerdict = 'OK' | 'SKIP' | { readonly not: string };

/** One condition of a healthy cluster, by its displayed name. */
export interface ClusterHealthCheck {
  readonly title: string;
  /** Interval between two checks. */
  readonly seconds: number;
  readonly look: () => HealthVerdict;
}

/** The nodes that a client names; by default the members of the cluster. */
export interface RequestedNodes {
  readonly controlPlaneNodes: readonly string[];
  readonly workerNodes: readonly string[];
}

/**
 * The health check of a control plane: one condition after the other, with a line for every new message (talos:
 * pkg/cluster/check). Ends when all conditions hold. `isOver` is checked before each attempt, and ends it as well.
 */
export async function* checkHealth(
  node: TalosNode,
  asked: RequestedNodes,
  isOver: () => boolean,
): AsyncGenerator<string, boolean> {
  const party = clusterNodesOf(node, asked);
  const all = [...party.controlPlanes, ...party.workers];
  yield `discovered nodes: [${all.map((address) => JSON.stringify(address)).join(' ')}]`;
  for (const { title, seconds, look } of healthChecks(node, party)) {
    yield `waiting for ${title}: ...`;
    let said = '';
    for (;;) {
      if (isOver()) return false;
      const verdict = look();
      const words = typeof verdict === 'string' ? verdict : verdict.not;
      if (words !== said) yield `waiting for ${title}: ${words}`.trim();
      said = words;
      if (typeof verdict === 'string') break;
      await node.sleep(seconds);
    }
  }
  return true;
}

function clusterNodesOf(node: TalosNode, { controlPlaneNodes, workerNodes }: RequestedNodes): ClusterNodes {
  if (controlPlaneNodes.length + workerNodes.length > 0) {
    return { controlPlanes: controlPlaneNodes, workers: workerNodes };
  }
  const members = node.resources.list('cluster', 'Members.cluster.talos.dev').map(({ spec }) => spec) as {
    readonly machineType: string;
    readonly addresses: readonly string[];
  }[];
  const of = (wanted: (type: string) => boolean): string[] =>
    members.filter(({ machineType }) => wanted(machineType)).flatMap(({ addresses }) => addresses.slice(0, 1));
  return { controlPlanes: of((type) => type === 'controlplane'), workers: of((type) => type !== 'controlplane') };
}
