import { createServer, type Server, type Socket } from 'node:net';
import { forwardConnection } from '../network/forward-connection.ts';
import type { FailoverState, RobotState } from './state.ts';

/** The ports that are forwarded at a failover address: the API server, the Talos API, and trustd. */
const forwardedPorts = [6443, 50_000, 50_001];

/**
 * Listens at every failover address that exists on this machine, and forwards connections to the server that it is
 * routed to. A system without the address drops them. Open connections stay when the route changes.
 */
export async function forwardFailoverAddresses(robot: RobotState): Promise<{ close(): Promise<void> }> {
  const sockets = new Set<Socket>();
  const all = robot.accounts.flatMap(({ failovers }) => [...failovers.values()]);
  const reachable = all.filter(({ ip }) => ip.startsWith('127.'));
  const servers = await Promise.all(
    reachable.flatMap((failover) => forwardedPorts.map((port) => forwardPort(robot, failover, port, sockets))),
  );
  return {
    close: async () => {
      for (const socket of sockets) socket.destroy();
      await Promise.all(servers.map((server) => new Promise<void>((resolve) => server.close(() => resolve()))));
    },
  };
}

async function forwardPort(
  robot: RobotState,
  failover: FailoverState,
  port: number,
  sockets: Set<Socket>,
): Promise<Server> {
  const server = createServer((socket) => {
    const target = [...robot.servers.values()].find(({ address }) => address !== null && address === failover.active);
    const { number, machine } = target ?? {};
    const isTaken = machine?.box.runner.takes?.(`robot-${number}`, failover.ip) ?? machine !== undefined;
    if (target?.address && isTaken) forwardConnection(socket, target.address, port, sockets);
    else socket.destroy();
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host: failover.ip, port, exclusive: true }, () => resolve());
  });
  return server;
}
