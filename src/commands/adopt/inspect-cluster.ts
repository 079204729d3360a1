import type { TargetClients } from '../../controllers/shared/target-clients.ts';
import { Node } from '../../kube/drain/kinds.ts';
import { KubeError } from '../../kube/errors.ts';
import { ConcurrencyLimit } from '../../lib/resilience/concurrency-limit.ts';
import type { SecretsBundle } from '../../talos/secrets/secrets-bundle.ts';
import type { AdoptSettings } from '../flags/access-settings.ts';
import { type InspectedNode, inspectNode, type NodeRole, type SilentNode } from './inspect-node.ts';

/** The Nodes that the API server of a cluster has, or why it cannot be asked. */
export type ApiServerAnswer =
  | { readonly version: string; readonly nodes: readonly { readonly name: string; readonly bootId: string }[] }
  | { readonly problem: string };

/** What was seen of a cluster that is to be adopted. */
export interface InspectedCluster {
  readonly nodes: readonly (InspectedNode | SilentNode)[];
  /** Undefined: no control plane has said where it is. */
  readonly endpoint: string | undefined;
  readonly api: ApiServerAnswer | undefined;
}

export const isSilentNode = (node: InspectedNode | SilentNode): node is SilentNode => 'problem' in node;

/** Nodes that are asked at the same time. */
const maxCalls = 16;

/** Asks all nodes, and the API server that their configuration names. Reads only. */
export async function inspectCluster(
  clients: TargetClients,
  bundle: SecretsBundle,
  { controlPlanes, workers }: Pick<AdoptSettings, 'controlPlanes' | 'workers'>,
  signal: AbortSignal,
): Promise<InspectedCluster> {
  const limit = new ConcurrencyLimit(maxCalls);
  const ask = async (address: string, role: NodeRole) => {
    const node = clients.talosWith(bundle, address);
    try {
      return await inspectNode(node, role, bundle, signal);
    } finally {
      await node.close();
    }
  };
  const named = [
    ...controlPlanes.map((address) => ({ address, role: 'controlplane' as const })),
    ...workers.map((address) => ({ address, role: 'worker' as const })),
  ];
  const nodes = await Promise.all(named.map(({ address, role }) => limit.run(() => ask(address, role), signal)));
  const endpoint = nodes.flatMap((node) => (isSilentNode(node) ? [] : (node.endpoint ?? []))).at(0);
  const api = endpoint === undefined ? undefined : await askApiServer(clients, bundle, endpoint, signal);
  return { nodes, endpoint, api };
}

async function askApiServer(
  clients: TargetClients,
  bundle: SecretsBundle,
  endpoint: string,
  signal: AbortSignal,
): Promise<ApiServerAnswer> {
  const client = await clients.nodeClientWith(bundle, endpoint);
  try {
    const answer = await client.raw<{ gitVersion?: unknown } | null>('GET', '/version', undefined, signal);
    const { items } = await client.list(Node, {}, signal);
    const nodes = items.map(({ metadata, status }) => ({
      name: metadata.name,
      bootId: status?.nodeInfo?.bootID ?? '',
    }));
    return { version: String(answer?.gitVersion ?? '').replace(/^v/, ''), nodes };
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof KubeError)) throw error;
    return { problem: error.message };
  } finally {
    await client.close();
  }
}
