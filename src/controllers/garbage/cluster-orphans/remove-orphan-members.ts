import { Machine } from '../../../api/machine.ts';
import type { Log } from '../../../lib/log.ts';
import type { EtcdMember } from '../../../talos/client/etcd-calls.ts';
import { isOwnOfCluster } from '../../cluster/identity.ts';
import type { ClusterView } from '../../cluster/view.ts';
import { etcdRemovalsOf } from '../../machine/release/etcd-removals.ts';
import { controlPlaneOf } from '../../shared/control-planes/control-plane.ts';
import { queryNode } from '../../shared/control-planes/query-node.ts';
import type { Services } from '../../shared/services.ts';
import { findMembershipObstacle, selectControlPlanes } from './find-collection-obstacle.ts';
import { findOrphanMembers, type OrphanMembers } from './find-orphan-members.ts';
import { lookSeconds } from './finding-confirmation.ts';
import type { ClusterOrphans, CollectionContext } from './orphan-memory.ts';
import { isMembershipKnown, readMembership } from './read-members.ts';

/** While a member is uncertain: it is asked for now and then, because no event reports its end. */
const uncertainPauseSeconds = 60;

/**
 * Removes a member of etcd that belongs to no Machine: it counts for the quorum and never comes back. A Machine that was
 * deleted by force leaves one, unless a control plane of its name has joined since, which Talos then does by itself.
 * Returns the seconds until the next look, if one is to come.
 */
export async function removeOrphanMembers(
  services: Services,
  view: ClusterView,
  known: ClusterOrphans,
  context: CollectionContext,
): Promise<number | undefined> {
  const { schedule, members: confirmation } = known;
  const controlPlanes = selectControlPlanes(view.machines);
  if (findMembershipObstacle(view) !== undefined) {
    confirmation.forget();
    return undefined;
  }
  const isLeaving = controlPlanes.some(({ metadata }) => metadata.deletionTimestamp !== undefined);
  const isHeldUp = isLeaving || (view.scaleDownObstacles ?? []).length > 0 || view.updateObstacle?.isTurn === false;
  const seconds = schedule.secondsUntilLook(controlPlanes, isHeldUp);
  if (seconds > 0) return seconds;
  schedule.begin();
  const source = { services, cluster: view.ref, controlPlanes, signal: context.signal };
  if (!confirmation.isPending) {
    const isKnown = await isMembershipKnown(source);
    if (isKnown) schedule.explain(controlPlanes);
    if (isKnown !== false) return isKnown ? undefined : uncertainPauseSeconds;
  }
  return await confirmAndRemove(services, view, known, context);
}

/** A look by all control planes. Removes at most one member. */
async function confirmAndRemove(
  services: Services,
  view: ClusterView,
  known: ClusterOrphans,
  context: CollectionContext,
): Promise<number | undefined> {
  const found = await findMembers(services, view, services.stores.machines.list(), context.signal);
  if ('problem' in found) return reportUncertainty(known, found.problem, context.log);
  const [first] = known.members.note(found.orphans.map(({ id }) => id));
  if (found.orphans.length === 0) known.schedule.explain(selectControlPlanes(view.machines));
  if (first === undefined) return known.members.isPending ? lookSeconds : undefined;
  const problem = await removeMember(services, view, first, context);
  return problem === undefined ? lookSeconds : reportUncertainty(known, problem, context.log);
}

async function findMembers(
  services: Services,
  { ref, machines }: ClusterView,
  all: readonly Machine[],
  signal: AbortSignal,
): Promise<OrphanMembers> {
  const source = { services, cluster: ref, controlPlanes: selectControlPlanes(machines), signal };
  const answer = await readMembership(source);
  return 'problem' in answer ? answer : findOrphanMembers(answer.reports, all);
}

function reportUncertainty(known: ClusterOrphans, problem: string, log: Log): number {
  known.members.forget();
  if (known.problem !== problem) log.info({ problem }, 'a member of etcd is kept while it is uncertain whose it is');
  known.problem = problem;
  return uncertainPauseSeconds;
}

/**
 * Looks again right before, with the Machines of the API server: the cache may lack one that was just created. No other
 * member leaves meanwhile. Returns why nothing was removed.
 */
async function removeMember(
  services: Services,
  view: ClusterView,
  id: string,
  { signal, log }: CollectionContext,
): Promise<string | undefined> {
  const remove = async (): Promise<string | undefined> => {
    const { items } = await services.kube.list(Machine, {}, signal);
    const machines = items.filter((one) => isOwnOfCluster(services, one, view.ref));
    const current = { ...view, machines };
    const obstacle = findMembershipObstacle(current);
    if (obstacle !== undefined) return obstacle;
    const again = await findMembers(services, current, items, signal);
    if ('problem' in again) return again.problem;
    const orphan = again.orphans.find((one) => one.id === id);
    const witness = selectControlPlanes(machines).find(({ metadata }) => !metadata.deletionTimestamp);
    if (!orphan || !witness) return 'It is not listed any more.';
    const target = controlPlaneOf(services, view.ref, witness, signal);
    const answer = await queryNode(target, async (node) => await node.removeEtcdMember(id, target));
    if (answer) return `${witness.metadata.name}: ${answer.message}.`;
    reportRemoval(services, view, orphan, log);
    return undefined;
  };
  return await etcdRemovalsOf(services).run(view.ref.uid, remove, signal);
}

function reportRemoval(
  services: Services,
  { cluster }: ClusterView,
  { id, name, peerUrls }: EtcdMember,
  log: Log,
): void {
  const message = `The member ${name} (${id}) of etcd at ${peerUrls.join(', ')} was removed: it belonged to no Machine.`;
  services.events.record(cluster, 'Normal', 'OrphanMemberRemoved', message);
  log.info({ member: name, id, peerUrls }, 'a member of etcd without a Machine was removed');
}
