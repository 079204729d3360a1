import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { KubeClient } from '../../src/kube/client/client.ts';
import { Lease, Namespace, Secret, ServiceAccount } from '../../src/kube/core-types.ts';
import {
  isAlreadyExists,
  isConflict,
  isForbidden,
  isGone,
  isInvalid,
  isNotFound,
  isUnauthorized,
} from '../../src/kube/errors.ts';
import { Event, EventRecorder } from '../../src/kube/event-recorder.ts';
import { Leadership } from '../../src/kube/leader-election/leadership.ts';
import { Reflector } from '../../src/kube/reflector/reflector.ts';
import { type ApiServerConnection, createApiServerConnection } from '../../src/kube/transport/api-server-connection.ts';
import { Transport } from '../../src/kube/transport/transport.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { noLog } from '../../src/lib/log.ts';
import * as lib from '../../src/lib/secret-string.ts';
import { missingForRealKube, startRealKube } from '../peers/kube-apiserver.ts';
import { waitForCondition } from '../support/harness/scripted-http-server.ts';
import { CallInterceptor } from '../world/faults/call-interceptor.ts';
import { createKubeStore } from '../world/kube/server.ts';
import { startSimulatedServer } from './support/simulated-server.ts';

interface ServerUnderTest {
  readonly admin: ApiServerConnection;
  /** A connection with a client certificate for this user. */
  as(user: string, groups?: readonly string[]): Promise<ApiServerConnection>;
  /** A connection with this bearer token. */
  with(token: lib.SecretString): ApiServerConnection;
  close(): Promise<void>;
}

const switchboard = new CallInterceptor();
const store = createKubeStore();

async function startSimulated(): Promise<ServerUnderTest> {
  const { authority, ...server } = await startSimulatedServer(['admin-token'], { store, switchboard });
  const common = { server: server.url, ca: authority.cert };
  return {
    admin: createApiServerConnection({ ...common, token: new lib.SecretString('admin-token') }),
    as: async (user, groups = []) => {
      const { cert, key } = await authority.issueClient(user, groups);
      return createApiServerConnection({ ...common, cert, key: new lib.SecretString(key) });
    },
    with: (token) => createApiServerConnection({ ...common, token }),
    close: server.close,
  };
}

async function startReal(): Promise<ServerUnderTest> {
  const server = await startRealKube({ controllers: true });
  const common = { server: server.url, ca: server.ca };
  return {
    admin: createApiServerConnection({ ...common, token: new lib.SecretString(server.token) }),
    as: async (user, groups = []) => {
      const { cert, key } = await server.clients.client(user, groups);
      return createApiServerConnection({ ...common, cert, key: new lib.SecretString(key) });
    },
    with: (token) => createApiServerConnection({ ...common, token }),
    close: () => server.close(),
  };
}

const realIsMissing = missingForRealKube(true);
const servers: [string, () => Promise<ServerUnderTest>, string | undefined][] = [
  ['our own API server', startSimulated, undefined],
  ['a real kube-apiserver', startReal, realIsMissing],
];

const failure = (call: Promise<unknown>): Promise<unknown> =>
  call.then(
    () => 'no failure',
    (error: unknown) => error,
  );

describe.each(servers)('the client on %s', (_, start, missing) => {
  if (missing) {
    it('leads, lists and watches', ({ skip }) => skip(missing));
    return;
  }
  let place: ServerUnderTest;
  let kube: KubeClient;
  const namespace = `client-${randomUUID().slice(0, 8)}`;
  const clients: KubeClient[] = [];
  const stops: AbortController[] = [];

  const connect = (connection: ApiServerConnection, fieldManager = 'first') => {
    const client = new KubeClient(new Transport(connection), { fieldManager, deadlineSeconds: 10 });
    clients.push(client);
    return client;
  };
  const stopSignal = () => {
    const stop = new AbortController();
    stops.push(stop);
    return stop;
  };
  const secret = (name: string, data: Record<string, string> = {}): Secret => ({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { namespace, name },
    data,
  });

  beforeAll(async () => {
    place = await start();
    kube = connect(place.admin);
    await kube.create(Namespace, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } });
  }, 120_000);
  afterEach(() => {
    for (const stop of stops.splice(0)) stop.abort();
  });
  afterAll(async () => {
    for (const client of clients) await client.close();
    await place?.close();
  }, 60_000);

  it('creates, reads, replaces and deletes, and reports each rejection by name', async () => {
    const key = { namespace, name: 'crud' };
    expect(await kube.find(Secret, key)).toBeUndefined();
    const made = await kube.create(Secret, secret('crud', { a: 'MQ==' }));
    expect(isAlreadyExists(await failure(kube.create(Secret, secret('crud'))))).toBe(true);
    const replaced = await kube.replace(Secret, { ...made, data: { b: 'Mg==' } });
    expect((await kube.get(Secret, key)).data).toEqual({ b: 'Mg==' });
    expect(isConflict(await failure(kube.replace(Secret, { ...made, data: {} })))).toBe(true);
    const lock = { resourceVersion: made.metadata.resourceVersion ?? '' };
    expect(isConflict(await failure(kube.merge(Secret, key, { data: { c: 'Mw==' } }, lock)))).toBe(true);
    await kube.merge(
      Secret,
      key,
      { data: { c: 'Mw==', b: null } },
      { resourceVersion: replaced.metadata.resourceVersion ?? '' },
    );
    expect((await kube.get(Secret, key)).data).toEqual({ c: 'Mw==' });
    expect(isConflict(await failure(kube.remove(Secret, key, { uid: randomUUID() })))).toBe(true);
    expect(await kube.remove(Secret, key, { uid: made.metadata.uid ?? '' })).toBe(true);
    expect(await kube.remove(Secret, key)).toBe(false);
    expect(isInvalid(await failure(kube.create(Secret, secret('Not A Name'))))).toBe(true);
    const noExtent = { ...secret('x'), metadata: { namespace: 'no-such-namespace', name: 'x' } };
    expect(isNotFound(await failure(kube.create(Secret, noExtent)))).toBe(true);
  });

  it('reports a kind that is not served as an error, and never as a missing object', async () => {
    const type = { group: 'no.such.group', version: 'v1', kind: 'Nothing', plural: 'nothings', namespaced: true };
    expect(isNotFound(await failure(kube.find(type, { namespace, name: 'x' })))).toBe(true);
  });

  it('applies only its own fields: another manager conflicts, force wins, omitted fields are removed', async () => {
    const second = connect(place.admin, 'second');
    const metadata = { namespace, name: 'applied' };
    await kube.apply(Secret, { metadata, data: { a: 'MQ==', b: 'Mg==' } });
    const conflict = await failure(second.apply(Secret, { metadata, data: { a: 'Mw==' } }));
    expect(isConflict(conflict)).toBe(true);
    expect(conflict).toMatchObject({ causes: [{ field: '.data.a' }] });
    await second.apply(Secret, { metadata, data: { a: 'Mw==' } }, { force: true });
    await kube.apply(Secret, { metadata, data: {} });
    expect((await kube.get(Secret, metadata)).data).toEqual({ a: 'Mw==' });
  });

  it('lists more than a page, by label, with kinds', async () => {
    const names = Array.from({ length: 520 }, (__, i) => `page-${i}`);
    for (let i = 0; i < names.length; i += 20) {
      const made = names
        .slice(i, i + 20)
        .map((name) =>
          kube.create(Secret, { ...secret(name), metadata: { namespace, name, labels: { page: 'yes' } } }),
        );
      await Promise.all(made);
    }
    const list = await kube.list(Secret, { namespace, labelSelector: 'page=yes' });
    expect(new Set(list.items.map(({ metadata }) => metadata.name))).toEqual(new Set(names));
    expect(list.items.every(({ apiVersion, kind }) => apiVersion === 'v1' && kind === 'Secret')).toBe(true);
    expect(list.resourceVersion).toMatch(/^\d+$/);
  }, 60_000);

  it('gets valid tokens, and its impersonation is rejected', async () => {
    const account = { namespace, name: 'worker' };
    await kube.create(ServiceAccount, { apiVersion: 'v1', kind: 'ServiceAccount', metadata: account });
    const { token, expiration } = await kube.requestToken(account, { expirationSeconds: 600 });
    expect(expiration.getTime()).toBeGreaterThan(Date.now() + 500_000);
    const worker = connect(place.with(token));
    const self = await worker.reviewSelf();
    expect([self.username, self.groups.includes('system:serviceaccounts')]).toEqual([
      `system:serviceaccount:${namespace}:worker`,
      true,
    ]);
    expect(await worker.reviewAccess({ verb: 'get', resource: 'secrets', namespace })).toBe(false);
    expect(await kube.reviewAccess({ verb: 'get', resource: 'secrets', namespace })).toBe(true);
    expect(await kube.reviewAccess({ verb: 'get', path: '/metrics' })).toBe(true);
    const forbidden = await failure(worker.find(Secret, { namespace, name: 'x' }));
    expect([isForbidden(forbidden), String(forbidden).includes(token.reveal())]).toEqual([true, false]);
    const foreign = connect(place.with(new lib.SecretString('nonsense')));
    expect(isUnauthorized(await failure(foreign.list(Secret)))).toBe(true);
  });

  it('authenticates with a client certificate', async () => {
    const { username, groups } = await connect(await place.as('jane', ['devs'])).reviewSelf();
    expect([username, groups.includes('devs')]).toEqual(['jane', true]);
  });

  it('reads responses that are not objects: JSON and text', async () => {
    expect(await kube.raw('GET', '/version')).toMatchObject({ major: '1' });
    expect(await kube.raw('GET', '/readyz')).toBe('ok');
  });

  it('reports all changes of the selected objects', async () => {
    const stop = stopSignal();
    const reflector = new Reflector(kube, Secret, {
      namespace,
      labelSelector: 'follow=yes',
      clock: systemClock,
      log: noLog,
    });
    const heard: string[] = [];
    reflector.onChange(({ kind, object: { metadata } }) => heard.push(`${kind} ${metadata.name}`));
    const make = (name: string) => ({ ...secret(name), metadata: { namespace, name, labels: { follow: 'yes' } } });
    await kube.create(Secret, make('one'));
    const done = reflector.start(stop.signal);
    await reflector.synced;
    await kube.create(Secret, make('two'));
    await kube.merge(Secret, { namespace, name: 'one' }, { data: { a: 'MQ==' } });
    await kube.merge(Secret, { namespace, name: 'two' }, { metadata: { labels: { follow: null } } });
    await kube.remove(Secret, { namespace, name: 'one' });
    await waitForCondition(() => heard.length >= 5, 'everything was heard');
    expect(heard).toEqual(['added one', 'added two', 'updated one', 'deleted two', 'deleted one']);
    expect(reflector.list()).toEqual([]);
    stop.abort();
    await done;
  });

  it('reports an expired or invalid version instead of waiting forever', async () => {
    const options = { namespace, timeoutSeconds: 5, idleSeconds: 5 };
    const firstOf = (resourceVersion: string): Promise<unknown> =>
      new Promise((resolve) => {
        const take = () => resolve('no failure');
        void failure(kube.watch(Secret, { ...options, resourceVersion }, take, stopSignal().signal)).then(resolve);
      });
    const first = await firstOf('1');
    // Version 1 is expired only on servers that compact; others send its events.
    expect(first === 'no failure' || isGone(first)).toBe(true);
    // A real server returns 500 here.
    expect(await firstOf('x')).toMatchObject({ status: expect.any(Number), name: 'KubeError' });
  });

  it('leads, hands over at its end, and writes a Lease that the server accepts', async () => {
    const candidate = (identity: string, client: KubeClient) => {
      const stop = stopSignal();
      const leadership = new Leadership({
        client,
        namespace,
        name: 'leader',
        identity,
        leaseSeconds: 3,
        clock: systemClock,
        log: noLog,
      });
      const ended = leadership.run(
        stop.signal,
        (signal) => new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true })),
      );
      return { leadership, stop, ended };
    };
    const a = candidate('a', kube);
    await waitForCondition(() => a.leadership.isLeader, 'the first leads');
    const b = candidate('b', connect(place.admin));
    await waitForCondition(() => b.leadership.holder === 'a', 'the second knows the first');
    const version = (await kube.get(Lease, { namespace, name: 'leader' })).metadata.resourceVersion;
    let renewed = version;
    while (renewed === version)
      renewed = (await kube.get(Lease, { namespace, name: 'leader' })).metadata.resourceVersion;
    expect([a.leadership.isLeader, b.leadership.isLeader]).toEqual([true, false]);
    a.stop.abort();
    expect(await a.ended).toBe('ended');
    await waitForCondition(() => b.leadership.isLeader, 'the second leads');
    const lease = await kube.get(Lease, { namespace, name: 'leader' });
    expect(lease.spec).toMatchObject({ holderIdentity: 'b', leaseTransitions: 1, leaseDurationSeconds: 3 });
    b.stop.abort();
    expect(await b.ended).toBe('ended');
  });

  it('writes Events that the server accepts, and increments their count', async () => {
    const object = await kube.create(Secret, secret('eventful'));
    const recorder = () => new EventRecorder({ client: kube, clock: systemClock, log: noLog, component: 'test' });
    for (const one of [recorder(), recorder()]) {
      one.record(object, 'Warning', 'Odd', 'Something is odd.');
      await one.flush();
    }
    const { items } = await kube.list(Event, { namespace, fieldSelector: 'involvedObject.name=eventful' });
    expect(items.map(({ reason, count }) => [reason, count])).toEqual([['Odd', 2]]);
  });
});

describe('the reflector on the simulated API server', () => {
  it('misses no event despite lost responses, dropped connections and expired versions', async () => {
    const place = await startSimulated();
    const kube = new KubeClient(new Transport(place.admin), { fieldManager: 'first' });
    const namespace = 'default';
    const stop = new AbortController();
    const reflector = new Reflector(kube, Secret, { namespace, clock: systemClock, log: noLog, random: () => 0 });
    const names = new Set<string>();
    reflector.onChange(({ kind, object: { metadata } }) => {
      if (kind === 'deleted') names.delete(metadata.name);
      else names.add(metadata.name);
    });
    const done = reflector.start(stop.signal);
    try {
      await reflector.synced;
      const watch = /^GET \/api\/v1\/namespaces\/default\/secrets$/;
      switchboard.fail('kube', watch, { kind: 'drop' }, 1);
      switchboard.fail('kube', watch, { kind: 'error', status: 503 }, 1);
      const make = (name: string) =>
        kube.create(Secret, { apiVersion: 'v1', kind: 'Secret', metadata: { namespace, name } });
      await make('one');
      await make('gone');
      await waitForCondition(() => names.has('gone'), 'both are known');
      store.compact();
      await kube.remove(Secret, { namespace, name: 'gone' });
      await make('two');
      await waitForCondition(() => names.has('two') && !names.has('gone'), 'the change is known');
      expect([...names].sort()).toEqual(['one', 'two']);
    } finally {
      stop.abort();
      await done;
      await kube.close();
      await place.close();
    }
  });
});
