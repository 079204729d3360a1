import type { ClusterIdentity } from '../../../api/cluster-identity.ts';
import { externalEndpointUrl } from '../../../api/openmcp/types.ts';
import { ProviderError } from '../../../lib/errors.ts';
import { findCluster } from '../../cluster/ownership.ts';
import type { Services } from '../services.ts';

/**
 * Opens the node watch of a cluster at its published endpoint. Returns when the Nodes are known or the first request
 * has failed.
 */
export async function ensureNodeWatch(
  { stores, targets, nodes }: Pick<Services, 'stores' | 'targets' | 'nodes'>,
  cluster: ClusterIdentity,
  signal: AbortSignal,
): Promise<void> {
  const url = externalEndpointUrl(findCluster(stores, cluster));
  if (url === undefined) return;
  try {
    await nodes.watch(cluster, await targets.client(cluster, url), signal);
  } catch (error) {
    // The conditions of the Cluster report missing or damaged secrets.
    if (!(error instanceof ProviderError)) throw error;
  }
}
