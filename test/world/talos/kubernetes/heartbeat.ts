import type { TalosNode } from '../node.ts';
import { timings } from '../timings.ts';
import type { SimulatedEtcdCluster } from './etcd.ts';
import { putNodeObject } from './node-and-pod-objects.ts';
import { renewHeartbeat, setNodeReady, shuttingDownMessage } from './node-conditions.ts';
import { markPodsNotReady } from './run-pods.ts';
import { markStaticPodsReady } from './static-pods.ts';

/** Nodes whose kubelet runs and renews its Lease, with the etcd that stores their Node: an entry for each kubelet. */
const reportingNodes = new WeakMap<TalosNode['world'], Map<TalosNode, RunningKubelet>>();

interface RunningKubelet {
  readonly cluster: SimulatedEtcdCluster;
}

function reportingNodesOf(world: TalosNode['world']): Map<TalosNode, RunningKubelet> {
  const known = reportingNodes.get(world) ?? new Map();
  reportingNodes.set(world, known);
  return known;
}

/**
 * The periodic status report of an idle kubelet: its whole status every five minutes, so that a watch of Nodes sees an
 * event for each. Its Lease, renewed every ten seconds, is not written here: `watchForSilence` tracks it.
 */
export function runHeartbeat(node: TalosNode, cluster: SimulatedEtcdCluster): void {
  const nodes = reportingNodesOf(node.world);
  const kubelet = { cluster };
  nodes.set(node, kubelet);
  node.onClose(() => stopHeartbeat(node));
  node.spawn('heartbeat', async () => {
    for (;;) {
      await node.sleep(timings.nodeReport);
      if (nodes.get(node) !== kubelet) return;
      if (isApiServed(node.world, cluster)) renewHeartbeat(cluster.store, node.nodename);
    }
  });
}

/** The kubelet ends, and another one with another configuration starts. */
export function suspendReports(node: TalosNode): void {
  const cluster = reportingNodesOf(node.world).get(node)?.cluster;
  if (!cluster) return;
  suspended.set(node, cluster);
  stopHeartbeat(node);
}

/** The new kubelet writes the Node with its own version. Its pods have run on, so that it is ready at once. */
export function restartReports(node: TalosNode): void {
  const cluster = suspended.get(node);
  if (!cluster || node.running) return;
  putNodeObject(node, cluster.store, node.config?.view.kubernetes.cni === 'none' ? 'False' : 'True');
  markStaticPodsReady(node, cluster.store);
  runHeartbeat(node, cluster);
}

const suspended = new WeakMap<TalosNode, SimulatedEtcdCluster>();

/** The kubelet ends gracefully before the machine stops: it reports so once, and then stops reporting. */
export function endHeartbeat(node: TalosNode): void {
  const cluster = reportingNodesOf(node.world).get(node)?.cluster;
  if (cluster && isApiServed(node.world, cluster)) {
    setNodeReady(cluster.store, node.nodename, 'False', shuttingDownMessage);
    markPodsNotReady(cluster.store, node.nodename);
  }
  stopHeartbeat(node);
}

function stopHeartbeat(node: TalosNode): void {
  const cluster = reportingNodesOf(node.world).get(node)?.cluster;
  reportingNodesOf(node.world).delete(node);
  if (cluster) markUnknownAfterSilence(node, cluster);
}

/**
 * The node lifecycle controller for a node that has fallen silent: `Unknown` after forty seconds without a heartbeat.
 * It runs with the API server. Without an API server it does not count, and the count restarts when one is back.
 */
function markUnknownAfterSilence(
  { world, nodename: name }: Pick<TalosNode, 'world' | 'nodename'>,
  cluster: SimulatedEtcdCluster,
): void {
  const speaks = (): boolean => [...reportingNodesOf(world).keys()].some((other) => other.nodename === name);
  const look = (): void => {
    if (speaks()) return;
    if (!isApiServed(world, cluster)) {
      waitForServer();
      return;
    }
    setNodeReady(cluster.store, name, 'Unknown');
    markPodsNotReady(cluster.store, name);
  };
  const waitForServer = (): void => {
    const isBack = isApiServed(world, cluster);
    world.later(isBack ? timings.nodeSilence : timings.poll, isBack ? look : waitForServer);
  };
  world.later(timings.nodeSilence, look);
}

/** The Nodes of a snapshot, of which nothing was heard yet. */
export function watchRestoredNodes(world: TalosNode['world'], cluster: SimulatedEtcdCluster): void {
  cluster.hasRestoredNodes = false;
  for (const { metadata } of cluster.store.list({ apiVersion: 'v1', kind: 'Node' }))
    markUnknownAfterSilence({ world, nodename: metadata.name }, cluster);
}

/** At least one API server of the cluster answers and can read and write. */
export const isApiServed = (world: TalosNode['world'], cluster: SimulatedEtcdCluster): boolean =>
  cluster.store.available && [...world.apiServers.values()].includes(cluster);
