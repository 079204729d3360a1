import { Machine } from '../../../api/machine.ts';
import type { KubeClient } from '../../../kube/client/client.ts';
import { Node } from '../../../kube/drain/kinds.ts';
import type { ClusterView } from '../../cluster/view.ts';
import type { Services } from '../../shared/services.ts';
import { findCollectionObstacle } from './find-collection-obstacle.ts';
import { findMachineRemains } from './find-machine-remains.ts';
import { findNodeObjection, listOrphanCandidates } from './find-orphan-nodes.ts';
import { lookSeconds } from './finding-confirmation.ts';
import type { ClusterOrphans, CollectionContext } from './orphan-memory.ts';

/** Of one look. More wait for the next one. */
const maxNodes = 10;
/** While the machine of a Node runs: an event reports a Node that is ready again, but not a machine that is off. */
const runningPauseSeconds = 300;

/**
 * Removes the Nodes of Machines that were deleted by force, whose release could not do it. The watch of the Nodes tells
 * the candidates without a call. Returns the seconds until the next look, if one is to come.
 */
export async function removeOrphanNodes(
  services: Services,
  view: ClusterView,
  known: ClusterOrphans,
  context: CollectionContext,
): Promise<number | undefined> {
  const { nodes: confirmation } = known;
  const url = view.endpoint?.url;
  const names = listCandidates(services, view);
  if (names.length === 0 || url === undefined) {
    confirmation.forget();
    return undefined;
  }
  const client = await services.targets.client(view.ref, url);
  const found = await Promise.all(names.map((name) => client.find(Node, { name }, context.signal)));
  const machines = services.stores.machines.list();
  const orphans = found.filter((node) => node !== undefined).filter((node) => !findNodeObjection(node, view, machines));
  const due = new Set(confirmation.note(orphans.map(({ metadata }) => metadata.uid ?? '')));
  if (orphans.length === 0) return undefined;
  let pause = lookSeconds;
  for (const { metadata } of orphans.filter((node) => due.has(node.metadata.uid ?? ''))) {
    const problem = await removeNode(services, view, { client, name: metadata.name, uid: metadata.uid }, context);
    if (problem === undefined) continue;
    context.log.info({ node: metadata.name, problem }, 'a Node without a Machine is kept');
    confirmation.forget();
    pause = runningPauseSeconds;
  }
  return pause;
}

function listCandidates(services: Services, view: ClusterView): string[] {
  if (findCollectionObstacle(view) !== undefined || !services.stores.machines.isSynced) return [];
  const isMachine = (name: string): boolean => services.stores.machines.get({ name }) !== undefined;
  return listOrphanCandidates(view, services.nodes.listUnready(view.ref), isMachine).slice(0, maxNodes);
}

interface OrphanNode {
  readonly client: KubeClient;
  readonly name: string;
  readonly uid: string | undefined;
}

/** Asks for the Machines, the machine and the Node once more. Returns why the Node is not removed. */
async function removeNode(
  services: Services,
  view: ClusterView,
  { client, name, uid }: OrphanNode,
  { signal, log }: CollectionContext,
): Promise<string | undefined> {
  // The cache may lack a Machine that was just created.
  const { items: machines } = await services.kube.list(Machine, {}, signal);
  const remains = await findMachineRemains(services, view, name, { signal, log });
  if (remains !== undefined) return remains;
  const node = await client.find(Node, { name }, signal);
  if (!node) return undefined;
  const objection = node.metadata.uid === uid ? findNodeObjection(node, view, machines) : 'It is another Node.';
  if (objection !== undefined) return objection;
  const { resourceVersion } = node.metadata;
  if (uid === undefined || resourceVersion === undefined) return 'It has no version.';
  const isRemoved = await client.remove(Node, { name }, { uid, resourceVersion }, signal);
  if (!isRemoved) return undefined;
  const message = `The Node ${name} was removed: it was not ready, and has no Machine.`;
  services.events.record(view.cluster, 'Normal', 'OrphanNodeRemoved', message);
  log.info({ node: name, uid }, 'a Node without a Machine was removed');
  return undefined;
}
