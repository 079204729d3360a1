import { createServer } from 'node:net';

/** Addresses of the demo's machines. */
export const demoNetwork = {
  gateway: '127.42.1.1',
  prefix: 24,
  pool: '127.42.1.10-127.42.1.29',
  /** The addresses of bare servers have this prefix and one more digit. */
  servers: '127.42.1.4',
} as const;

/**
 * Whether the machines' addresses are usable on this machine. Linux answers on all of 127.0.0.0/8; where only 127.0.0.1
 * exists (macOS), the sentence names the command that adds the others.
 */
export async function loopbackProblem(): Promise<string | undefined> {
  if (await canListen('127.42.1.10')) return undefined;
  const add =
    'for n in $(seq 1 60); do sudo ifconfig lo0 alias 127.42.0.$n up; sudo ifconfig lo0 alias 127.42.1.$n up; done';
  return `The simulated machines live on addresses of the loopback network (127.42.x.y), which this system does not have yet. This adds them until the next restart:\n\n  ${add}\n`;
}

function canListen(host: string): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(0, host, () => server.close(() => resolve(true)));
  });
}
