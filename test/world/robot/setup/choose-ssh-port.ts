import { createServer } from 'node:net';

const usualPort = 22;

/**
 * The SSH port of all servers: the requested one; else 22 if this process may listen on it at the address of a server,
 * or a free one.
 */
export async function chooseSshPort(word: string | undefined, address: string | undefined): Promise<number> {
  if (word !== undefined && word !== 'any') {
    const port = /^\d{1,5}$/.test(word) ? Number(word) : 0;
    if (port < 1 || port > 65535) throw new RangeError(`--ssh-port: ${word} is neither a port nor "any"`);
    return port;
  }
  if (address === undefined) return usualPort;
  const usual = word === 'any' ? undefined : await tryPort(address, usualPort);
  return usual ?? (await tryPort(address, 0)) ?? usualPort;
}

/** The port, or undefined if it is not available. */
function tryPort(host: string, port: number): Promise<number | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(undefined));
    server.listen(port, host, () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address ? address.port : undefined));
    });
  });
}
