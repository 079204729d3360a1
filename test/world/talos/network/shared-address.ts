import { createServer, type Server, type Socket } from 'node:net';
import { forwardConnection } from '../../network/forward-connection.ts';
import { talosApiPort } from '../environment.ts';
import type { SimulatedEtcdCluster } from '../kubernetes/etcd.ts';
import type { TalosNode } from '../node.ts';
import { publishSharedAddress } from '../state/publish-resources.ts';
import { timings } from '../timings.ts';

/**
 * The virtual IP of the control planes: one healthy etcd member holds it, elected through etcd, so it exists only after
 * the bootstrap, and independently of kube-apiserver. A holder whose configuration no longer has it resigns, and the
 * next holder has it before the old one removes it. After a crash of its holder it is missing until the lease expires
 * (talos: internal/app/machined/pkg/controllers/network/operator/vip.go, operator_spec.go).
 */
export async function runSharedAddress(node: TalosNode): Promise<void> {
  node.onClose(() => releaseSharedAddress(node));
  for (;;) {
    const ip = node.config?.view.vip;
    const cluster = node.etcd?.cluster;
    const isHolder = clusterOfHolder(node) !== undefined;
    if (isHolder && !cluster?.quorum) await releaseSharedAddress(node);
    else if (isHolder && cluster && ip === undefined) await handOverSharedAddress(node, cluster);
    else if (ip !== undefined && cluster?.quorum && cluster.vip.owner === undefined && cluster.vip.free)
      await acquireSharedAddress(node, cluster, ip);
    await node.sleep(timings.poll);
  }
}

const clusterOfHolder = (node: TalosNode): SimulatedEtcdCluster | undefined =>
  [...node.world.vips.values()].find((cluster) => cluster.vip.owner === node);

async function acquireSharedAddress(node: TalosNode, cluster: SimulatedEtcdCluster, ip: string): Promise<void> {
  cluster.vip.owner = node;
  const door = await listenAtSharedAddress(node, cluster, ip);
  cluster.vip = { owner: node, free: true, door };
  node.world.vips.set(ip, cluster);
  announceHolder(node, ip);
  if (node.signal.aborted) await releaseSharedAddress(node);
}

function announceHolder(node: TalosNode, ip: string): void {
  publishSharedAddress(node, ip, true);
  node.log(`assigned shared IP ${ip}`);
  node.world.changed();
}

/** Hands over to the next candidate, if any. Connections end, because the next holder does not know them. */
async function handOverSharedAddress(node: TalosNode, cluster: SimulatedEtcdCluster): Promise<void> {
  const { door } = cluster.vip;
  const next = cluster.members.find(
    (member) => !member.learner && member.node && member.node !== node && member.node.config?.view.vip === door?.ip,
  )?.node;
  if (!next || !door) return await releaseSharedAddress(node, 0);
  cluster.vip.owner = next;
  announceHolder(next, door.ip);
  node.log(`removing shared IP ${door.ip}`);
  publishSharedAddress(node, door.ip, false);
  door.hangUp();
}

async function releaseSharedAddress(node: TalosNode, seconds: number = timings.vipFailover): Promise<void> {
  const cluster = clusterOfHolder(node);
  if (!cluster) return;
  const { door } = cluster.vip;
  cluster.vip = { owner: undefined, free: false };
  node.world.later(seconds, () => {
    cluster.vip.free = true;
  });
  if (!door) return;
  node.world.vips.delete(door.ip);
  publishSharedAddress(node, door.ip, false);
  await door.close();
}

/** The listeners at the shared address, whoever its holder is. */
export interface SharedAddressListener {
  readonly ip: string;
  /** All connections end. */
  hangUp(): void;
  close(): Promise<void>;
}

/** Listens on every port of the holder. */
async function listenAtSharedAddress(
  node: TalosNode,
  cluster: SimulatedEtcdCluster,
  ip: string,
): Promise<SharedAddressListener> {
  const ports = [talosApiPort, 50001, node.config?.view.kubernetes.apiPort ?? 6443];
  const sockets = new Set<Socket>();
  const servers: Server[] = [];
  for (const port of ports) {
    const server = createServer((socket) =>
      forwardConnection(socket, cluster.vip.owner?.addresses[0] ?? '', port, sockets),
    );
    await new Promise<void>((resolve) => {
      server.once('error', (error) => {
        node.log(`vip ${ip}: ${error.message}`);
        resolve();
      });
      server.listen({ host: ip, port, exclusive: true }, () => resolve());
    });
    servers.push(server);
  }
  const hangUp = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    ip,
    hangUp,
    close: async () => {
      hangUp();
      await Promise.all(servers.map((server) => new Promise<void>((resolve) => server.close(() => resolve()))));
    },
  };
}
