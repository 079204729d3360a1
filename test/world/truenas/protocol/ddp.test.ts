import { afterEach, describe, expect, test } from 'vitest';
import { WebSocket } from 'ws';
import { RawClient, startTrueNasFixture, type TrueNasFixture, waitUntilHolds } from '../testing/true-nas-fixture.ts';

let nas: TrueNasFixture;
afterEach(() => nas.close());

type Message = Record<string, unknown>;

/** A connection to the older endpoint, after the handshake by default. */
async function open(isGreeting = true) {
  const client = await nas.connect('/websocket');
  const find = (wanted: (message: Message) => boolean) => client.messages.find(wanted);
  const next = async (wanted: (message: Message) => boolean) => {
    await waitUntilHolds(() => find(wanted) !== undefined || client.closed !== undefined, 'a message comes');
    // biome-ignore lint/suspicious/noExplicitAny: tests look into whatever came back
    return find(wanted) as any;
  };
  const ask = async (id: string, method: string, ...params: unknown[]) => {
    client.send({ msg: 'method', id, method, params });
    return next((message) => message['msg'] === 'result' && message['id'] === id);
  };
  if (isGreeting) {
    client.send({ msg: 'connect', version: '1', support: ['1'] });
    expect(await next(({ msg }) => msg === 'connected')).toMatchObject({ session: expect.any(String) });
  }
  return { client, next, ask };
}

async function loggedIn(options: Parameters<typeof startTrueNasFixture>[0] = {}) {
  nas = await startTrueNasFixture(options);
  const legacy = await open();
  const { apiKey } = nas.room.line.credentials;
  expect(await legacy.ask('login', 'auth.login_with_api_key', apiKey)).toMatchObject({ result: true });
  return legacy;
}

describe.each(['25.04.2', '25.10', '26'])('the older protocol at /websocket, %s', (version) => {
  test('requires the handshake first, in a supported version', async () => {
    nas = await startTrueNasFixture({ version });
    const { client, next, ask } = await open(false);
    client.send({ msg: 'method', id: 'a', method: 'core.ping', params: [] });
    expect(await next(({ msg }) => msg === 'failed')).toEqual({ msg: 'failed', version: '1' });
    client.send({ msg: 'connect', version: '1' });
    await next(({ msg }) => msg === 'connected');
    expect(await ask('b', 'core.ping')).toEqual({ id: 'b', msg: 'result', result: 'pong' });
    expect(await ask('c', 'vm.query')).toMatchObject({
      error: { error: 207, errname: 'ENOTAUTHENTICATED', type: null },
    });
  });

  test('has its own error format', async () => {
    const { ask } = await loggedIn({ version });
    const unnamed = await ask('a', 'vm.create', { memory: 1024 });
    expect(unnamed.error).toMatchObject({
      error: 11,
      errname: 'EAGAIN',
      type: 'VALIDATION',
      reason: '[EINVAL] vm_create.name: Field required\n',
      extra: [['vm_create.name', 'Field required', 22]],
    });
    expect('frames' in unnamed.error.trace).toBe(version !== '26');
    expect((await ask('b', 'vm.get_instance', 5)).error).toMatchObject({
      error: 2,
      reason: '[ENOENT] None: VM 5 does not exist',
      type: 'VALIDATION',
    });
    expect((await ask('c', 'vm.query', [['id', '=', 5]], { get: true })).error).toMatchObject({
      error: 22,
      reason: 'MatchNotFound()',
    });
    expect((await ask('d', 'vm.fly')).error).toMatchObject({
      error: 201,
      reason: "[ENOMETHOD] Method 'fly' not found in 'vm'",
    });
    expect((await ask('e', 'kite.fly')).error).toMatchObject({
      error: 201,
      reason: "[ENOMETHOD] Service 'kite' not found",
    });
  });

  test('answers a job with its number and sends its end to subscribers', async () => {
    const { client, next, ask } = await loggedIn({ version });
    client.send({ msg: 'sub', id: 'jobs', name: 'core.get_jobs' });
    expect(await next(({ msg }) => msg === 'ready')).toEqual({ msg: 'ready', subs: ['jobs'] });
    const { result: vm } = await ask('a', 'vm.create', { name: 'one', memory: 1024 });
    await ask('b', 'vm.start', vm.id);
    await ask('c', 'core.set_options', { legacy_jobs: false });
    const { result: job } = await ask('d', 'vm.stop', vm.id);
    expect(job).toEqual(expect.any(Number));
    const over = await next(
      (message) => message['collection'] === 'core.get_jobs' && (message['fields'] as Message)['state'] === 'SUCCESS',
    );
    expect(over).toMatchObject({ msg: 'changed', id: job, fields: { method: 'vm.stop' } });
  });
});

test('its own ping is not answered, and invalid JSON ends the connection', async () => {
  const { client, ask } = await loggedIn();
  client.send({ msg: 'ping', id: 'x' });
  await ask('a', 'core.ping');
  expect(client.messages.filter(({ msg }) => msg === 'pong')).toEqual([]);
  client.send('{');
  await waitUntilHolds(() => client.closed !== undefined, 'it closes');
  expect(client.closed?.code).toBe(1007);
});

test('a subscription without authorization is refused', async () => {
  nas = await startTrueNasFixture({
    seed: { users: [{ name: 'root' }, { name: 'small', apiKey: 'k', roles: ['VM_READ'] }] },
  });
  const { client, next, ask } = await open();
  await ask('login', 'auth.login_with_api_key', '2-k');
  client.send({ msg: 'sub', id: 's', name: 'pool.query' });
  expect(await next(({ id }) => id === 's')).toMatchObject({ error: { error: 13, reason: 'Not authorized' } });
});

test('25.04.1 has no service vm at either endpoint', async () => {
  const { ask } = await loggedIn({ version: '25.04.1' });
  expect((await ask('a', 'vm.query')).error).toMatchObject({ reason: "[ENOMETHOD] Service 'vm' not found" });
});

test('a fault is sent in its format, and calls beyond twenty are refused', async () => {
  const { client, next, ask } = await loggedIn();
  nas.switchboard.fail('truenas', /^vm\.query$/, { kind: 'error', code: 'EBUSY', body: 'not now' });
  expect((await ask('a', 'vm.query')).error).toMatchObject({ error: 16, reason: '[EBUSY] not now' });
  nas.room.setLatency('system.info', 500);
  for (let index = 0; index < 21; index++) {
    client.send({ msg: 'method', id: `m${index}`, method: 'system.info', params: [] });
  }
  expect((await next(({ id }) => id === 'm20')).error).toMatchObject({ error: 109, errname: 'ETOOMANYREFS' });
});

test('other paths have no WebSocket', async () => {
  nas = await startTrueNasFixture();
  const client = await RawClient.open(new URL('/sockjs', nas.room.line.url).href, nas.ca);
  expect(client.socket.readyState).not.toBe(WebSocket.OPEN);
});
