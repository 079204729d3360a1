import { once } from 'node:events';
import type { Server } from 'node:http';
import type { Server as SecureServer } from 'node:https';
import type { AddressInfo, Server as TcpServer } from 'node:net';

/** Resolves to the port, once the server listens. */
export async function startListening(server: TcpServer, host: string, port: number): Promise<number> {
  server.listen({ host, port, exclusive: true });
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

/** Ends all connections, too. */
export async function stopListening(server: Server | SecureServer): Promise<void> {
  const closed = once(server, 'close');
  server.close();
  server.closeAllConnections();
  await closed;
}
