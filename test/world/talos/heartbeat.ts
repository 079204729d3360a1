import type { EtcdCluster } from './etcd.ts';
import type { Node } from './node.ts';
import { setNodeReady, shuttingDown, touchNode } from './node-conditions.ts';
import { timings } from './timings.ts';

/** Nodes whose kubelet runs and renews its Lease, with the etcd that their Node lies in. */
const reporting = new WeakMap<Node['world'], Map<Node, EtcdCluster>>();

function reportingIn(world: Node['world']): Map<Node, EtcdCluster> {
  const known = reporting.get(world) ?? new Map();
  reporting.set(world, known);
  return known;
}

/**
 * What a kubelet says of itself while nothing happens: its whole status every five minutes, so that whoever watches Nodes
 * sees each of them so often. The Lease that it renews every ten seconds is not written here: `watchForSilence` knows of it.
 */
export function runHeartbeat(node: Node, cluster: EtcdCluster): void {
  const nodes = reportingIn(node.world);
  nodes.set(node, cluster);
  node.onClose(() => fallSilent(node));
  node.spawn('heartbeat', async () => {
    for (;;) {
      await node.sleep(timings.nodeReport);
      if (!nodes.has(node)) return;
      if (isServed(node.world, cluster)) touchNode(cluster.store, node.nodename);
    }
  });
}

/** The kubelet ends in order, before the machine goes down: it says so, and then nothing more. */
export function endHeartbeat(node: Node): void {
  const cluster = reportingIn(node.world).get(node);
  if (cluster && isServed(node.world, cluster)) setNodeReady(cluster.store, node.nodename, 'False', shuttingDown);
  fallSilent(node);
}

function fallSilent(node: Node): void {
  const cluster = reportingIn(node.world).get(node);
  reportingIn(node.world).delete(node);
  if (cluster) watchForSilence(node, cluster);
}

/**
 * The node lifecycle controller, for a node that has just fallen silent: `Unknown` after forty seconds without a heartbeat. It
 * runs beside the API server: while there is none, nobody counts, and it counts anew from the moment at which there is one.
 */
function watchForSilence({ world, nodename: name }: Node, cluster: EtcdCluster): void {
  const speaks = (): boolean => [...reportingIn(world).keys()].some((other) => other.nodename === name);
  const look = (): void => {
    if (speaks()) return;
    if (isServed(world, cluster)) setNodeReady(cluster.store, name, 'Unknown');
    else waitForServer();
  };
  const waitForServer = (): void => {
    const isBack = isServed(world, cluster);
    world.later(isBack ? timings.nodeSilence : timings.poll, isBack ? look : waitForServer);
  };
  world.later(timings.nodeSilence, look);
}

/** Some API server of the cluster answers, and can read and write. */
const isServed = (world: Node['world'], cluster: EtcdCluster): boolean =>
  cluster.store.available && [...world.apiServers.values()].includes(cluster);
