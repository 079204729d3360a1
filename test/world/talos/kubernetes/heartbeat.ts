import type { TalosNode } from '../node.ts';
import { timings } from '../timings.ts';
import type { SimulatedEtcdCluster } from './etcd.ts';
import { renewHeartbeat, setNodeReady, shuttingDownMessage } from './node-conditions.ts';
import { markPodsNotReady } from './run-pods.ts';

/** Nodes whose kubelet runs and renews its Lease, with the etcd that stores their Node. */
const reportingNodes = new WeakMap<TalosNode['world'], Map<TalosNode, SimulatedEtcdCluster>>();

function reportingNodesOf(world: TalosNode['world']): Map<TalosNode, SimulatedEtcdCluster> {
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
  nodes.set(node, cluster);
  node.onClose(() => stopHeartbeat(node));
  node.spawn('heartbeat', async () => {
    for (;;) {
      await node.sleep(timings.nodeReport);
      if (!nodes.has(node)) return;
      if (isApiServed(node.world, cluster)) renewHeartbeat(cluster.store, node.nodename);
    }
  });
}

/** The kubelet ends gracefully before the machine stops: it reports so once, and then stops reporting. */
export function endHeartbeat(node: TalosNode): void {
  const cluster = reportingNodesOf(node.world).get(node);
  if (cluster && isApiServed(node.world, cluster))
    setNodeReady(cluster.store, node.nodename, 'False', shuttingDownMessage);
  stopHeartbeat(node);
}

function stopHeartbeat(node: TalosNode): void {
  const cluster = reportingNodesOf(node.world).get(node);
  reportingNodesOf(node.world).delete(node);
  if (cluster) markUnknownAfterSilence(node, cluster);
}

/**
 * The node lifecycle controller for a node that has fallen silent: `Unknown` after forty seconds without a heartbeat.
 * It runs with the API server. Without an API server it does not count, and the count restarts when one is back.
 */
function markUnknownAfterSilence({ world, nodename: name }: TalosNode, cluster: SimulatedEtcdCluster): void {
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

/** At least one API server of the cluster answers and can read and write. */
const isApiServed = (world: TalosNode['world'], cluster: SimulatedEtcdCluster): boolean =>
  cluster.store.available && [...world.apiServers.values()].includes(cluster);
