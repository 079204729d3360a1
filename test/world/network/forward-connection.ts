import { connect, type Socket } from 'node:net';

/** Forwards a connection to a target, byte for byte. Both sockets are in `sockets` while they are open. */
export function forwardConnection(socket: Socket, host: string, port: number, sockets: Set<Socket>): void {
  // On loopback the node sees the client's address, as with a real address of its own.
  const access = socket.remoteAddress ?? '';
  const inner = connect({ host, port, ...(access.startsWith('127.') ? { localAddress: access } : {}) });
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
