import { connect, createServer, type Server, type Socket } from 'node:net';
import type { Node } from './node.ts';
import { timings } from './timings.ts';

/**
 * The shared address of the control planes: one healthy etcd member holds it, elected through etcd, so it exists only after the
 * bootstrap. After a crash of its holder it is away until the lease runs out.
 */
export async function runVip(node: Node): Promise<void> {
  const ip = node.config?.view.vip;
  if (ip === undefined) return;
  for (;;) {
    const cluster = node.etcd?.cluster;
    if (cluster?.quorum && cluster.vip.owner === undefined && cluster.vip.free) {
      cluster.vip.owner = node;
      const release = await hold(node, ip);
      node.world.vips.set(ip, cluster);
      node.world.changed();
      const drop = async () => {
        cluster.vip = { owner: undefined, free: false };
        node.world.later(timings.vipFailover, () => {
          cluster.vip.free = true;
        });
        node.world.vips.delete(ip);
        await release();
      };
      node.onClose(drop);
      while (cluster.quorum && node.etcd) await node.sleep(timings.poll);
      await drop();
    }
    await node.sleep(timings.poll);
  }
}

/** Everything a node listens on, it listens on here too. Resolves to what lets go. */
async function hold(node: Node, ip: string): Promise<() => Promise<void>> {
  const ports = [node.world.apiPort, 50001, node.config?.view.kubernetes.apiPort ?? 6443];
  const sockets = new Set<Socket>();
  const servers: Server[] = [];
  for (const port of ports) {
    const server = createServer((socket) => pipe(socket, node.addresses[0] ?? '', port, sockets));
    await new Promise<void>((resolve) => {
      server.once('error', (error) => {
        node.log(`vip ${ip}: ${error.message}`);
        resolve();
      });
      server.listen({ host: ip, port, exclusive: true }, () => resolve());
    });
    servers.push(server);
  }
  node.log(`assigned shared IP ${ip}`);
  return async () => {
    for (const socket of sockets) socket.destroy();
    await Promise.all(servers.map((server) => new Promise<void>((resolve) => server.close(() => resolve()))));
  };
}

function pipe(socket: Socket, host: string, port: number, sockets: Set<Socket>): void {
  // On loopback the node gets to see who asks, as behind a real address of its own.
  const asker = socket.remoteAddress ?? '';
  const inner = connect({ host, port, ...(asker.startsWith('127.') ? { localAddress: asker } : {}) });
  for (const [one, other] of [
    [socket, inner],
    [inner, socket],
  ] as const) {
    sockets.add(one);
    one.on('close', () => {
      sockets.delete(one);
      other.destroy();
    });
    one.on('error', () => other.destroy());
  }
  socket.pipe(inner).pipe(socket);
}
