import { createServer, type Server, type Socket } from 'node:net';
import { pipe } from '../tcp-pipe.ts';
import type { EtcdCluster } from './etcd.ts';
import type { Node } from './node.ts';
import { publishSharedAddress } from './publish.ts';
import { timings } from './timings.ts';

/**
 * The shared address of the control planes: one healthy etcd member holds it, elected through etcd, so it exists only after the
 * bootstrap. Whether kube-apiserver answers there is nothing to it. Whoever is not to hold it any more by its configuration
 * resigns, and the next one has it before it is gone from the old one; after a crash of its holder it is away until the lease
 * runs out (talos: internal/app/machined/pkg/controllers/network/operator/vip.go, operator_spec.go).
 */
export async function runVip(node: Node): Promise<void> {
  node.onClose(() => lose(node));
  for (;;) {
    const ip = node.config?.view.vip;
    const cluster = node.etcd?.cluster;
    const isHolder = clusterHeldBy(node) !== undefined;
    if (isHolder && !cluster?.quorum) await lose(node);
    else if (isHolder && cluster && ip === undefined) await resign(node, cluster);
    else if (ip !== undefined && cluster?.quorum && cluster.vip.owner === undefined && cluster.vip.free)
      await take(node, cluster, ip);
    await node.sleep(timings.poll);
  }
}

const clusterHeldBy = (node: Node): EtcdCluster | undefined =>
  [...node.world.vips.values()].find((cluster) => cluster.vip.owner === node);

async function take(node: Node, cluster: EtcdCluster, ip: string): Promise<void> {
  cluster.vip.owner = node;
  const door = await openDoor(node, cluster, ip);
  cluster.vip = { owner: node, free: true, door };
  node.world.vips.set(ip, cluster);
  hold(node, ip);
  if (node.signal.aborted) await lose(node);
}

function hold(node: Node, ip: string): void {
  publishSharedAddress(node, ip, true);
  node.log(`assigned shared IP ${ip}`);
  node.world.changed();
}

/** To whoever waits in the election; nobody may. Connections end, as the next one knows nothing of them. */
async function resign(node: Node, cluster: EtcdCluster): Promise<void> {
  const { door } = cluster.vip;
  const next = cluster.members.find(
    (member) => !member.learner && member.node && member.node !== node && member.node.config?.view.vip === door?.ip,
  )?.node;
  if (!next || !door) return await lose(node, 0);
  cluster.vip.owner = next;
  hold(next, door.ip);
  node.log(`removing shared IP ${door.ip}`);
  publishSharedAddress(node, door.ip, false);
  door.hangUp();
}

async function lose(node: Node, seconds: number = timings.vipFailover): Promise<void> {
  const cluster = clusterHeldBy(node);
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

/** Where the shared address is listened at, whoever holds it. */
export interface Door {
  readonly ip: string;
  /** All connections end. */
  hangUp(): void;
  close(): Promise<void>;
}

/** Everything the holder listens on, it listens on here too. */
async function openDoor(node: Node, cluster: EtcdCluster, ip: string): Promise<Door> {
  const ports = [node.world.apiPort, 50001, node.config?.view.kubernetes.apiPort ?? 6443];
  const sockets = new Set<Socket>();
  const servers: Server[] = [];
  for (const port of ports) {
    const server = createServer((socket) => pipe(socket, cluster.vip.owner?.addresses[0] ?? '', port, sockets));
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
