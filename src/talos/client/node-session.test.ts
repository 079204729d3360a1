import { once } from 'node:events';
import { createServer, type Http2Server, type ServerHttp2Session } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import { NodeSession } from './node-session.ts';

let server: Http2Server | undefined;
let manager: NodeSession | undefined;
afterEach(() => {
  manager?.abort();
  server?.close();
});

async function open(): Promise<{ manager: NodeSession; peers: ServerHttp2Session[] }> {
  const peers: ServerHttp2Session[] = [];
  server = createServer((_, response) => void response.end('x')).on('session', (peer) => void peers.push(peer));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  manager = new NodeSession(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  return { manager, peers };
}

async function ask(through: NodeSession) {
  const stream = await through.request('GET', '/', {}, {});
  stream.resume();
  const { session } = stream;
  await once(stream, 'close');
  return session;
}

it.each([
  ['a request goes through another session', async (through: NodeSession) => void (await ask(through))],
  ['it is given up', async (through: NodeSession) => through.abort()],
])('the error of an idle session whose node said GOAWAY is caught, also if at once %s', async (_, act) => {
  const { manager: through, peers } = await open();
  const session = await ask(through);
  // An uncaught error makes vitest fail the run.
  const ended = new Promise((resolve) => session?.once('close', resolve));
  const acted = new Promise((resolve, reject) => {
    session?.once('goaway', () => void act(through).then(resolve, reject));
  });
  peers[0]?.goaway(0);
  await acted;
  await ended;
  expect(session?.destroyed).toBe(true);
  expect(session?.listenerCount('error')).toBeGreaterThan(0);
});
