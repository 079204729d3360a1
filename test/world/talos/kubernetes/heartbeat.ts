import type { TalosNode } from '../node.ts';
import { timings } from '../timings.ts';
import type { SimulatedEtcdCluster } from './etcd.ts';
import { renewHeartbeat, setNodeReady, shuttingDownMessage } from './node-conditions.ts';

/** Nodes whose kubelet runs and renews its Lease, with the etcd that their Node lies in. */
const reportingNodes = new WeakMap<TalosNode['world'], Map<TalosNode, SimulatedEtcdCluster>>();

function reportingNodesOf(world: TalosNode['world']): Map<TalosNode, SimulatedEtcdCluster> {
  const known = reportingNodes.get(world) ?? new Map();
  reportingNodes.set(world, known);
  return known;
}

/**
 * What a kubelet says of itself while nothing happens: its whole status every five minutes, so that whoever watches Nodes
 * sees each of them so often. The Lease that it renews every ten seconds is not written here: `watchForSilence` knows of it.
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

/** The kubelet ends in order, before the machine goes down: it says so, and then nothing more. */
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
 * The node lifecycle controller, for a node that has just fallen silent: `Unknown` after forty seconds without a heartbeat. It
 * runs beside the API server: while there is none, nobody counts, and it counts anew from the moment at which there is one.
 */
function markUnknownAfterSilence({ world, nodename: name }: TalosNode, cluster: SimulatedEtcdCluster): void {
  const speaks = (): boolean => [...reportingNodesOf(world).keys()].some((other) => other.nodename === name);
  const look = (): void => {
    if (speaks()) return;
    if (isApiServed(world, cluster)) setNodeReady(cluster.store, name, 'Unknown');
    else waitForServer();
  };
  const waitForServer = (): void => {
    const isBack = isApiServed(world, cluster);
    world.later(isBack ? timings.nodeSilence : timings.poll, isBack ? look : waitForServer);
  };
  world.later(timings.nodeSilence, look);
}

/** Some API server of the cluster answers, and can read and write. */
const isApiServed = (world: TalosNode['world'], cluster: SimulatedEtcdCluster): boolean =>
  cluster.store.available && [...world.apiServers.values()].includes(cluster);
