import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type NodeNews, NodeWatches } from '../../src/controllers/nodes/node-watches.ts';
import { KubeClient } from '../../src/kube/client.ts';
import { connectionTo } from '../../src/kube/connection.ts';
import { Transport } from '../../src/kube/transport.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { noLog } from '../../src/lib/log.ts';
import { Secret } from '../../src/lib/secret.ts';
import { missingForRealKube, startRealKube } from '../peers/kube-apiserver.ts';
import { KubeNode } from '../support/kube-node.ts';
import { until } from '../support/rough-server.ts';
import { makeAuthority, newTokenKey } from './kube/pki.ts';
import { createKubeStore, startKube } from './kube/server.ts';
import { Switchboard } from './switchboard.ts';

interface Place {
  readonly url: string;
  readonly ca: string;
  readonly token: string;
  close(): Promise<void>;
}

async function world(): Promise<Place> {
  const authority = await makeAuthority();
  const server = await startKube({
    ...{ host: '127.0.0.1', port: 0, store: createKubeStore(), switchboard: new Switchboard() },
    serving: await authority.issueServer(['127.0.0.1']),
    clientCa: authority.cert,
    serviceAccount: { privateKey: newTokenKey(), issuer: 'https://kubernetes.default.svc' },
    tokens: { admin: { user: 'admin', groups: ['system:masters'] } },
  });
  return { url: server.url, ca: authority.cert, token: 'admin', close: () => server.close() };
}

const real = async (): Promise<Place> => {
  const server = await startRealKube();
  return { url: server.url, ca: server.ca, token: server.token, close: () => server.close() };
};

const places: [string, () => Promise<Place>, string | undefined][] = [
  ['our own API server', world, undefined],
  ['a real kube-apiserver', real, missingForRealKube()],
];

const shop = { namespace: 'team', name: 'shop', uid: 'shop-uid' };
const { signal } = new AbortController();

describe.each(places)('nodes that are watched at %s', (_, start, missing) => {
  if (missing) {
    it('tell of themselves', ({ skip }) => skip(missing));
    return;
  }
  let place: Place;
  let kube: KubeClient;
  let watches: NodeWatches;
  let news: NodeNews[];
  const clients: KubeClient[] = [];

  const connect = (): KubeClient => {
    const { url, ca, token } = place;
    const transport = new Transport(connectionTo({ server: url, ca, token: new Secret(token) }));
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
    watches.onNews((one) => news.push(one));
    await watches.follow(shop, connect(), signal);
    await until(() => watches.isHeard(shop), 'it is heard of');
    news.length = 0;
  }

  it('are ready when it says so, and only then', async () => {
    await follow();
    expect(['one', 'two', 'none'].map((name) => watches.isReady(shop, name))).toEqual([true, false, false]);
    expect(watches.isReady({ ...shop, name: 'other', uid: 'u' }, 'one')).toBe(false);
  });

  it('are told of when they turn, come or go, and not for each sign of life', async () => {
    await follow();
    await say('one', 'True', new Date(Date.now() + 300_000));
    await say('two', 'Unknown');
    await say('two', 'True');
    await until(() => watches.isReady(shop, 'two'), 'two is ready');
    expect(news).toHaveLength(1);
    await kube.remove(KubeNode, { name: 'two' });
    await until(() => news.length === 2, 'it was told of');
    await appear('two', 'False');
    await kube.merge(KubeNode, { name: 'one' }, { spec: { unschedulable: true } });
    await say('one', 'False');
    await until(() => news.length === 4, 'it was told of');
    await say('one', 'True');
    await until(() => news.length === 5, 'it was told of');
    expect(news.map((one) => one.node)).toEqual(['two', 'two', 'two', 'one', 'one']);
    expect(new Set(news.map(({ cluster }) => cluster))).toEqual(new Set([shop]));
    expect(['one', 'two'].map((name) => watches.isReady(shop, name))).toEqual([true, false]);
  });

  it('are watched with another client from then on, without a word about it', async () => {
    await follow();
    await watches.follow(shop, connect(), signal);
    await until(() => watches.isReady(shop, 'one'), 'one is ready');
    expect(news.filter(({ node }) => node === undefined)).toEqual([]);
    await say('one', 'False');
    await until(() => !watches.isReady(shop, 'one'), 'one is not ready');
    await say('one', 'True');
    await until(() => watches.isReady(shop, 'one'), 'one is ready');
  });

  it('are forgotten with their cluster', async () => {
    await follow();
    await watches.forget(shop);
    expect([watches.isHeard(shop), watches.isReady(shop, 'one')]).toEqual([false, false]);
  });

  it('are not ready for all that is known when their API server is not heard of any more, which is told once', async () => {
    await follow();
    await place.close();
    await until(() => !watches.isHeard(shop), 'it is silent');
    expect(watches.isReady(shop, 'one')).toBe(false);
    expect(news).toEqual([{ cluster: shop }]);
    const late = connect();
    const cluster = { namespace: 'team', name: 'late', uid: 'late-uid' };
    await watches.follow(cluster, late, signal);
    expect(watches.isHeard(cluster)).toBe(false);
  });
});
