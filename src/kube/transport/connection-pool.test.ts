import { expect, it, onTestFinished } from 'vitest';
import { replyJson, waitForCondition } from '../../../test/support/harness/scripted-http-server.ts';
import { startTestServer } from '../../../test/support/harness/transport-harness.ts';
import { KubeConnectionPool } from './connection-pool.ts';

const tls = { ca: 'A' };

async function createFixture() {
  const server = await startTestServer(({ path }, response) => {
    if (path === '/') replyJson(response, {}, 200, { connection: 'close' });
    else if (path === '/kept') replyJson(response, {});
    else response.writeHead(200).write('\n');
  });
  const connections = new KubeConnectionPool(server.url);
  onTestFinished(() => connections.close());
  return { server, connections };
}

const ask = async (connections: KubeConnectionPool, path = '/', certificates = tls) => {
  const { statusCode, body } = await connections.shared(certificates).request({ method: 'GET', path });
  await body.dump();
  return statusCode;
};

it('the pool has one connection for each concurrent call, and none to an idle server', async () => {
  const { connections } = await createFixture();
  const calls = [ask(connections), ask(connections)];
  expect(connections.size).toBe(2);
  expect(await Promise.all(calls)).toEqual([200, 200]);
  await waitForCondition(() => connections.size === 0, 'there is nothing left');
  expect(await ask(connections)).toBe(200);
});

it('a stream takes over the connection of an earlier call, which no call uses any more', async () => {
  const { server, connections } = await createFixture();
  await ask(connections, '/kept');
  await waitForCondition(() => connections.size === 1, 'it is kept');
  const client = connections.own(tls);
  const { body } = await client.request({ method: 'GET', path: '/stream' });
  body.on('error', () => {});
  await ask(connections, '/kept');
  const [first, stream, later] = server.received.map(({ socket }) => socket);
  expect(stream).toBe(first);
  expect(later).not.toBe(first);
});

it('a change of certificates opens new connections, and calls on the former ones complete', async () => {
  const { server, connections } = await createFixture();
  const underWay = ask(connections, '/kept');
  const others = ask(connections, '/kept', { ca: 'B' });
  expect(await Promise.all([underWay, others])).toEqual([200, 200]);
  expect(new Set(server.received.map(({ socket }) => socket)).size).toBe(2);
});

it('the connection of a stream ends with its release, and with the close of the pool', async () => {
  const { server, connections } = await createFixture();
  const [one, two] = [connections.own(tls), connections.own(tls)];
  for (const client of [one, two]) {
    const { body } = await client.request({ method: 'GET', path: '/stream' });
    body.on('error', () => {});
  }
  expect(server.open.size).toBe(2);
  await connections.release(one);
  await waitForCondition(() => server.open.size === 1, 'one is gone');
  await connections.close();
  await waitForCondition(() => server.open.size === 0, 'all are gone');
});
