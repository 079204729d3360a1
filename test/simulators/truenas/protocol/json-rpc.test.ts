import { Agent, request } from 'undici';
import { describe, expect, onTestFinished, test } from 'vitest';
import { openTrueNas } from '../testing/open-true-nas.ts';
import { RawClient, startTrueNasFixture, waitUntilHolds } from '../testing/true-nas-fixture.ts';

describe('a frame', () => {
  const ping = { jsonrpc: '2.0', id: 9, method: 'core.ping' };

  test.each([
    ['not JSON', '{', null, -32700],
    ['a batch', [ping], null, -32700],
    ['a bare number', '7', null, -32700],
    ['another version', { ...ping, jsonrpc: '1.0' }, 9, -32600],
    ['no version', { id: 9, method: 'core.ping' }, 9, -32600],
    ['no method', { jsonrpc: '2.0', id: 9 }, 9, -32600],
    ['params as an object', { ...ping, params: {} }, 9, -32600],
  ])('%s is refused', async (_, frame, id, code) => {
    const { nas } = await openTrueNas();
    const client = await nas.connect();
    client.send(frame);
    expect((await client.answerTo(id)).error?.code).toBe(code);
  });

  test('that is a notification is executed and never answered, not even when it fails', async () => {
    const { nas, client } = await openTrueNas();
    client.messages.length = 0;
    client.send({ jsonrpc: '2.0', method: 'pool.dataset.create', params: [{ name: 'tank/silent' }] });
    client.send({ jsonrpc: '2.0', method: 'no.such' });
    client.send({ jsonrpc: '1.0', method: 'core.ping' });
    await waitUntilHolds(() => nas.simulator.nas.datasets.has('tank/silent'), 'the dataset exists');
    client.send({ ...ping, id: 'text' });
    expect(await client.answerTo('text')).toMatchObject({ result: 'pong' });
    expect(client.messages).toHaveLength(1);
  });

  test('that is binary or too long ends the connection', async () => {
    const { nas } = await openTrueNas();
    const closing = async (client: RawClient, send: (client: RawClient) => void) => {
      send(client);
      await waitUntilHolds(() => client.closed !== undefined, 'it closes');
      return client.closed;
    };
    const post = (length: number) => (client: RawClient) => void client.post('core.ping', 'x'.repeat(length));
    expect(await closing(await nas.login(), ({ socket }) => socket.send(Buffer.from('{}')))).toMatchObject({
      code: 1003,
    });
    expect(await closing(await nas.connect(), post(9000))).toEqual({
      ...{ code: 1007, reason: 'Anonymous connection max message length is 8 kB' },
    });
    expect(await closing(await nas.login(), post(70_000))).toEqual({
      ...{ code: 1009, reason: 'Max message length is 64 kB' },
    });
  });
});

describe('an answer', () => {
  test.each([
    ['too many arguments', 'core.ping', ['x'], ['', 'Too many arguments (expected 0, found 1)', 22]],
    ['a missing argument', 'vm.get_instance', [], ['id', 'Field required', 22]],
    ['a number as text', 'vm.get_instance', ['5'], ['id', 'Input should be a valid integer', 22]],
    ['an unknown key', 'vm.start', [1, { force: true }], ['options.force', 'Extra inputs are not permitted', 22]],
    [
      'a long text',
      'vm.create',
      [{ name: 'a', memory: 512, command_line_args: 'x'.repeat(1025) }],
      ['vm_create.command_line_args', 'String should have at most 1024 characters', 22],
    ],
    ['a bad filter', 'vm.query', [[['id', 'is', 1]]], ['filters', 'Value error, Invalid operation: is', 22]],
  ])('to %s names the path', async (_, method, params, rejection) => {
    const { error } = await (await openTrueNas()).client.ask(method, ...params);
    expect(error).toMatchObject({ code: -32602, message: 'Invalid params' });
    expect(error?.data).toMatchObject({
      ...{ error: 22, errname: 'EINVAL', extra: [rejection], reason: `[EINVAL] ${rejection[0]}: ${rejection[1]}\n` },
      trace: { class: 'ValidationErrors', frames: [] },
    });
  });

  test('lists all refused arguments at once', async () => {
    const { refusals: rejections } = await openTrueNas();
    const paths = (await rejections('vm.create', { memory: '5', vlan: 3 }))?.map(([path]) => path).sort();
    expect(paths).toEqual(['vm_create.memory', 'vm_create.name', 'vm_create.vlan']);
  });

  test('S11: about an unknown object has ENOENT, but EINVAL for a query with get, and a third form for a dataset', async () => {
    const { client, refusals: rejections } = await openTrueNas();
    for (const [method, ...params] of [
      ['vm.get_instance', 5],
      ['vm.update', 5, {}],
      ['vm.delete', 5],
    ] as const) {
      const { error } = await client.ask(method, ...params);
      expect(error).toMatchObject({
        code: -32602,
        data: { error: 22, reason: '[ENOENT] None: VM 5 does not exist', extra: [[null, 'VM 5 does not exist', 2]] },
      });
    }
    for (const [method, ...params] of [
      ['vm.status', 5],
      ['vm.query', [['id', '=', 5]], { get: true }],
    ] as const)
      expect((await client.ask(method, ...params)).error).toMatchObject({
        ...{ code: -32001, message: 'Method call error' },
        data: { error: 22, errname: 'EINVAL', reason: 'MatchNotFound()', extra: null },
      });
    expect(await rejections('pool.dataset.update', 'tank/none', {})).toEqual([['id', 'tank/none does not exist', 2]]);
    expect((await client.ask('vm.fly')).error).toEqual({ code: -32601, message: 'Method does not exist' });
  });

  test('to a query: filtered, selected, counted', async () => {
    const { client } = await openTrueNas();
    for (const name of ['b', 'a', 'c']) await client.call('pool.dataset.create', { name: `tank/${name}` });
    const ids = async (...filters: unknown[]) =>
      (await client.call('pool.dataset.query', filters, { select: ['id'] })).map(({ id }: { id: string }) => id);
    expect(await ids(['id', 'in', ['tank/a', 'tank/b']])).toEqual(['tank/a', 'tank/b']);
    expect(await ids(['id', '^', 'tank/'], ['id', '!=', 'tank/a'], ['id', '!$', '/c'])).toEqual(['tank/b']);
    expect(await ids(['id', 'rin', 'k/'], ['id', 'nin', ['tank/a']])).toEqual(['tank/b', 'tank/c']);
    const both = [
      ['id', '^', 'tank/'],
      ['id', '$', '/b'],
    ];
    expect(await ids(['OR', [['id', '=', 'tank/a'], both]])).toEqual(['tank/a', 'tank/b']);
    expect(await client.call('pool.dataset.query', [['used.parsed', '!=', 0]], { count: true })).toBe(4);
  });
});

test('S26: ten calls run, ten wait, and the twenty-first is refused without running', async () => {
  const slow = await startTrueNasFixture({ scale: 0.05 });
  onTestFinished(() => slow.close());
  const busy = await slow.connect();
  // Wrong logins take one or two simulated seconds.
  const wrong = { mechanism: 'API_KEY_PLAIN', username: 'root', api_key: '9-wrong' };
  const ids = Array.from({ length: 21 }, () => busy.post('auth.login_ex', wrong));
  expect((await busy.answerTo(ids[20])).error).toEqual({
    ...{ code: -32000, message: 'Maximum number of concurrent calls (20) has exceeded' },
  });
  expect((await busy.answerTo(ids[19])).result).toEqual({ response_type: 'AUTH_ERR' });
  expect(slow.switchboard.calls).toHaveLength(20);
});

test('the endpoints: a pinned one has the methods of its release; others and the server answer without a login', async () => {
  const { nas } = await openTrueNas();
  const dispatcher = new Agent({ connect: { ca: nas.ca } });
  onTestFinished(() => dispatcher.close());
  const page = async (path: string) =>
    await (await request(new URL(path, nas.simulator.line.url.replace('wss:', 'https:')), { dispatcher })).body.json();
  expect(((await page('/api/versions')) as string[]).at(-1)).toBe('v25.10.5');
  expect(await page('/api/boot_id')).toBe(nas.simulator.nas.bootId);
  expect((await nas.connect('/api/v25.10')).socket.readyState).toBe(3);
  expect(await (await nas.connect('/api/v25.10.0')).call('core.ping')).toBe('pong');
  expect((await (await nas.connect('/api/v25.04.0')).ask('vm.query')).error?.code).toBe(-32601);
  expect((await (await nas.connect('/api/v25.04.2')).ask('vm.query')).error?.data.error).toBe(207);
  expect((await RawClient.open(nas.simulator.line.url)).socket.readyState).toBe(3);
});
