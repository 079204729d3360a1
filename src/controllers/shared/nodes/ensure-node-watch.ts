import type { ClusterIdentity } from '../../../api/cluster-identity.ts';
import { externalEndpointUrl } from '../../../api/openmcp/types.ts';
import { ProviderError } from '../../../lib/errors.ts';
import { findCluster } from '../../cluster/ownership.ts';
import type { Services } from '../services.ts';

/** Listens to a cluster at the endpoint that was published for it, and returns when something is known of it, or cannot be now. */
export async function ensureNodeWatch(
  { stores, targets, nodes }: Pick<Services, 'stores' | 'targets' | 'nodes'>,
  cluster: ClusterIdentity,
  signal: AbortSignal,
): Promise<void> {
  const url = externalEndpointUrl(findCluster(stores, cluster));
  if (url === undefined) return;
  try {
    await nodes.follow(cluster, await targets.client(cluster, url), signal);
  } catch (error) {
    // Its secrets are gone or damaged, which its own conditions say.
    if (!(error instanceof ProviderError)) throw error;
  }
}
