import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type NodeWatchEvent, NodeWatches } from '../../src/controllers/shared/nodes/node-watches.ts';
import { KubeClient } from '../../src/kube/client/client.ts';
import { createApiServerConnection } from '../../src/kube/transport/api-server-connection.ts';
import { Transport } from '../../src/kube/transport/transport.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { noLog } from '../../src/lib/log.ts';
import { SecretString } from '../../src/lib/secret-string.ts';
import { missingForRealKube, startRealKube } from '../peers/kube-apiserver.ts';
import { KubeNode } from '../support/fixtures/kube-node.ts';
import { waitForCondition } from '../support/harness/scripted-http-server.ts';
import { startSimulatedServer } from './support/simulated-server.ts';

interface ServerUnderTest {
  readonly url: string;
  readonly ca: string;
  readonly token: string;
  close(): Promise<void>;
}

async function startSimulated(): Promise<ServerUnderTest> {
  const server = await startSimulatedServer(['admin']);
  return { url: server.url, ca: server.authority.cert, token: 'admin', close: server.close };
}

const startReal = async (): Promise<ServerUnderTest> => {
  const server = await startRealKube();
  return { url: server.url, ca: server.ca, token: server.token, close: () => server.close() };
};

const servers: [string, () => Promise<ServerUnderTest>, string | undefined][] = [
  ['our own API server', startSimulated, undefined],
  ['a real kube-apiserver', startReal, missingForRealKube()],
];

const shop = { namespace: 'team', name: 'shop', uid: 'shop-uid' };
const { signal } = new AbortController();

describe.each(servers)('watches of nodes at %s', (_, start, missing) => {
  if (missing) {
    it('report the state of nodes', ({ skip }) => skip(missing));
    return;
  }
  let place: ServerUnderTest;
  let kube: KubeClient;
  let watches: NodeWatches;
  let news: NodeWatchEvent[];
  const clients: KubeClient[] = [];

  const connect = (): KubeClient => {
    const { url, ca, token } = place;
    const transport = new Transport(createApiServerConnection({ server: url, ca, token: new SecretString(token) }));
    const client = new KubeClient(transport, { fieldManager: 'test', deadlineSeconds: 10 });
    clients.push(client);
    return client;
  };
  const say = (name: string, ready: string, at = new Date()) => {
    const time = at.toISOString().replace(/\.\d+/, '');
    const condition = { type: 'Ready', status: ready, lastHeartbeatTime: time, lastTransitionTime: time };
    return kube.merge(KubeNode, { name }, { status: { conditions: [condition] } }, { subresource: 'status' });
  };
  const appear = async (name: string, ready: string) => {
    await kube.create(KubeNode, { apiVersion: 'v1', kind: 'Node', metadata: { name } });
    await say(name, ready);
  };

  beforeAll(async () => {
    place = await start();
    kube = connect();
    await appear('one', 'True');
    await appear('two', 'False');
  }, 120_000);
  afterEach(() => watches.close());
  afterAll(async () => {
    for (const client of clients) await client.close();
    await place.close();
  }, 60_000);

  async function follow(): Promise<void> {
    [watches, news] = [new NodeWatches({ clock: systemClock, log: noLog }), []];
    watches.onChange((one) => news.push(one));
    await watches.watch(shop, connect(), signal);
    await waitForCondition(() => watches.isConnected(shop), 'it is heard of');
    news.length = 0;
  }

  it('report ready nodes only when their condition is True', async () => {
    await follow();
    expect(['one', 'two', 'none'].map((name) => watches.isReady(shop, name))).toEqual([true, false, false]);
    expect(watches.isReady({ ...shop, name: 'other', uid: 'u' }, 'one')).toBe(false);
    expect(watches.listUnready(shop)).toEqual(['two']);
    expect(watches.listUnready({ ...shop, name: 'other', uid: 'u' })).toEqual([]);
  });

  it('report when nodes change, appear or disappear, and not for each heartbeat', async () => {
    await follow();
    await say('one', 'True', new Date(Date.now() + 300_000));
    await say('two', 'Unknown');
    await say('two', 'True');
    await waitForCondition(() => watches.isReady(shop, 'two'), 'two is ready');
    expect(news).toHaveLength(1);
    await kube.remove(KubeNode, { name: 'two' });
    await waitForCondition(() => news.length === 2, 'it was told of');
    await appear('two', 'False');
    await kube.merge(KubeNode, { name: 'one' }, { spec: { unschedulable: true } });
    await say('one', 'False');
    await waitForCondition(() => news.length === 4, 'it was told of');
    await say('one', 'True');
    await waitForCondition(() => news.length === 5, 'it was told of');
    expect(news.map((one) => one.node)).toEqual(['two', 'two', 'two', 'one', 'one']);
    expect(new Set(news.map(({ cluster }) => cluster))).toEqual(new Set([shop]));
    expect(['one', 'two'].map((name) => watches.isReady(shop, name))).toEqual([true, false]);
  });

  it('continue with another client, without an event', async () => {
    await follow();
    await watches.watch(shop, connect(), signal);
    await waitForCondition(() => watches.isReady(shop, 'one'), 'one is ready');
    expect(news.filter(({ node }) => node === undefined)).toEqual([]);
    await say('one', 'False');
    await waitForCondition(() => !watches.isReady(shop, 'one'), 'one is not ready');
    await say('one', 'True');
    await waitForCondition(() => watches.isReady(shop, 'one'), 'one is ready');
  });

  it('end with their cluster', async () => {
    await follow();
    await watches.forget(shop);
    expect([watches.isConnected(shop), watches.isReady(shop, 'one')]).toEqual([false, false]);
  });

  it('report all nodes as not ready when their API server is silent, once', async () => {
    await follow();
    await place.close();
    await waitForCondition(() => !watches.isConnected(shop), 'it is silent');
    expect(watches.isReady(shop, 'one')).toBe(false);
    expect(news).toEqual([{ cluster: shop }]);
    const late = connect();
    const cluster = { namespace: 'team', name: 'late', uid: 'late-uid' };
    await watches.watch(cluster, late, signal);
    expect(watches.isConnected(cluster)).toBe(false);
  });
});
