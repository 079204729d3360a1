import { KubeError } from '../../../kube/errors.ts';
import { ProviderError } from '../../../lib/errors.ts';
import type { ClusterView } from '../../cluster/view.ts';
import type { Services } from '../../shared/services.ts';
import { type CollectionContext, clusterOrphansOf } from './orphan-memory.ts';
import { removeOrphanMembers } from './remove-orphan-members.ts';
import { removeOrphanNodes } from './remove-orphan-nodes.ts';

/** After an error of the cluster. */
const retrySeconds = 60;

/**
 * Removes from a cluster what Machines have left in it that no longer exist: members of etcd and Nodes. `view`: the
 * result of this reconcile. Returns the seconds until the next look, if one is to come before the next reconcile. An
 * error never holds up the Cluster.
 */
export async function collectClusterOrphans(
  services: Services,
  view: ClusterView,
  context: CollectionContext,
): Promise<number> {
  const known = clusterOrphansOf(services, view.ref.uid);
  const waits: number[] = [];
  for (const remove of [removeOrphanMembers, removeOrphanNodes]) {
    try {
      waits.push((await remove(services, view, known, context)) ?? Number.POSITIVE_INFINITY);
    } catch (error) {
      context.signal.throwIfAborted();
      if (!(error instanceof KubeError) && !(error instanceof ProviderError && error.retry !== 'bug')) throw error;
      context.log.info({ problem: error.message }, 'orphans of the cluster could not be looked for');
      waits.push(retrySeconds);
    }
  }
  return Math.min(...waits);
}
