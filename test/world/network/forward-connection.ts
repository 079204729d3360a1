import { connect, type Socket } from 'node:net';

/** Hands a connection on to somebody else, byte for byte. Both ends are in `sockets` while they last. */
export function forwardConnection(socket: Socket, host: string, port: number, sockets: Set<Socket>): void {
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
