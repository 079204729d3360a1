import { expect, it, onTestFinished } from 'vitest';
import { answer, until } from '../../test/support/rough-server.ts';
import { serve } from '../../test/support/transport-scene.ts';
import { Connections } from './connections.ts';

const tls = { ca: 'A' };
const call = { method: 'GET', path: '/' } as const;

async function scene() {
  const server = await serve(({ path }, response) => {
    if (path === '/') answer(response, {}, 200, { connection: 'close' });
    else response.writeHead(200).write('\n');
  });
  const connections = new Connections(server.url, null);
  onTestFinished(() => connections.close());
  return { server, connections };
}

it('those for calls are the same while somebody calls, and nothing is kept of a server that nobody calls', async () => {
  const { connections } = await scene();
  const first = connections.shared(tls);
  expect(connections.shared(tls)).toBe(first);
  const [one, two] = await Promise.all([first.request(call), first.request(call)]);
  await Promise.all([one.body.dump(), two.body.dump()]);
  await until(() => connections.shared(tls) !== first, 'there is nothing left of it');
  expect((await connections.shared(tls).request(call)).statusCode).toBe(200);
});

it('other certificates have others, and calls on the former ones end well', async () => {
  const { connections } = await scene();
  const former = connections.shared(tls);
  const underWay = former.request(call);
  expect(connections.shared({ ca: 'B' })).not.toBe(former);
  expect((await underWay).statusCode).toBe(200);
});

it('one of its own ends with who asked for it, and with all of them', async () => {
  const { server, connections } = await scene();
  const [one, two] = [connections.own(tls), connections.own(tls)];
  await Promise.all([one, two].map((client) => client.request({ method: 'GET', path: '/stream' })));
  expect(server.open.size).toBe(2);
  await connections.release(one);
  await until(() => server.open.size === 1, 'one is gone');
  await connections.close();
  await until(() => server.open.size === 0, 'all are gone');
});
