import { Machine } from '../../../api/machine.ts';
import { Node } from '../../../kube/drain/kinds.ts';
import { KubeError } from '../../../kube/errors.ts';
import { ProviderError } from '../../../lib/errors.ts';
import type { Log } from '../../../lib/log.ts';
import type { Services } from '../../shared/services.ts';
import type { ClusterView } from '../view.ts';
import { findOrphanNodes, isControlPlaneName } from './find-orphan-nodes.ts';
import { orphanGraceSeconds, orphanObservationsOf } from './orphan-observations.ts';
import { removeOrphanMember } from './remove-orphan-member.ts';

interface OrphanContext {
  readonly signal: AbortSignal;
  readonly log: Log;
}

/**
 * Removes what Machines have left in their cluster that were deleted by force, so that their release never ran: their Nodes,
 * which hold Pods and volumes, and their members of etcd. Nothing is asked while every Node has a Machine, and etcd agrees
 * with the Machines. Returns the seconds until the next look.
 */
export async function removeOrphans(
  services: Services,
  view: ClusterView,
  context: OrphanContext,
): Promise<number | undefined> {
  const about = { ref: view.ref, nodePrefix: view.secrets?.nodePrefix, machines: view.machines };
  const orphans = findOrphanNodes(services.nodes.names(view.ref), about);
  const due = orphanObservationsOf(services, 'nodes').record(view.ref.uid, orphans);
  const mayHaveMember = orphans.some((name) => isControlPlaneName(about, name));
  const isSuspicious = mayHaveMember || view.updateObstacle?.hasForeignMember === true;
  if (orphans.length === 0 && !isSuspicious) return undefined;
  const isEtcdClean = !isSuspicious || (await removeOrphanMember(services, view, context));
  for (const name of due) {
    // The Node shows that there may be a member.
    if (isEtcdClean || !isControlPlaneName(about, name)) await removeOrphanNode(services, view, name, context);
  }
  return orphanGraceSeconds;
}

/** Looks again, at both API servers: nothing is removed that is Ready, or that a Machine has meanwhile. */
async function removeOrphanNode(
  services: Services,
  view: ClusterView,
  name: string,
  { signal, log }: OrphanContext,
): Promise<void> {
  const url = view.endpoint?.url;
  if (url === undefined || (await services.kube.find(Machine, { name }, signal))) return;
  try {
    const client = await services.targets.client(view.ref, url);
    const node = await client.find(Node, { name }, signal);
    if (!node || !isLeft(node, view.platform ?? '')) return;
    const { uid, resourceVersion } = node.metadata;
    const precondition = { ...(uid ? { uid } : {}), ...(resourceVersion ? { resourceVersion } : {}) };
    await client.remove(Node, { name }, precondition, signal);
    log.info({ node: name }, 'an orphan Node was removed');
    const message = `The Node ${name}, whose Machine no longer exists, was deleted.`;
    services.events.record(view.cluster, 'Warning', 'OrphanNodeRemoved', message);
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof KubeError || error instanceof ProviderError)) throw error;
    log.warn({ node: name, why: error.message }, 'an orphan Node was not removed');
  }
}

/** A machine of this platform has registered it, and its kubelet is silent. */
function isLeft({ spec, status }: Node, platform: string): boolean {
  const ready = status?.conditions?.find(({ type }) => type === 'Ready')?.status;
  return ready !== 'True' && platform !== '' && (spec?.providerID?.startsWith(`${platform}://`) ?? false);
}
