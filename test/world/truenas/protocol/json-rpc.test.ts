import { request } from 'undici';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  type RawClient,
  startTrueNasFixture,
  type TrueNasFixture,
  waitUntilHolds,
} from '../testing/true-nas-fixture.ts';

let nas: TrueNasFixture;
let client: RawClient;

beforeAll(async () => {
  nas = await startTrueNasFixture();
  client = await nas.login();
});
afterAll(() => nas.close());

/** Sends a frame and returns the answer with `id`. */
async function exchange(frame: unknown, id: unknown = null) {
  const fresh = await nas.login();
  fresh.messages.length = 0;
  fresh.send(frame);
  return fresh.answerTo(id);
}

describe('the envelope', () => {
  test.each([
    ['not JSON', '{', -32700],
    ['a batch', [{ jsonrpc: '2.0', id: 1, method: 'core.ping' }], -32700],
    ['a bare number', '7', -32700],
  ])('%s is refused with id null', async (_, frame, code) => {
    expect((await exchange(frame)).error?.code).toBe(code);
  });

  test.each([
    ['another version', { jsonrpc: '1.0', id: 9, method: 'core.ping' }],
    ['no version', { id: 9, method: 'core.ping' }],
    ['no method', { jsonrpc: '2.0', id: 9 }],
    ['params as an object', { jsonrpc: '2.0', id: 9, method: 'core.ping', params: {} }],
  ])('%s is an invalid request, answered because its id is readable', async (_, frame) => {
    expect((await exchange(frame, 9)).error?.code).toBe(-32600);
  });

  test('a call without params has an empty list', async () => {
    expect(await exchange({ jsonrpc: '2.0', id: 'text id', method: 'core.ping' }, 'text id')).toMatchObject({
      result: 'pong',
    });
  });

  test('a notification is executed and never answered, not even when it fails', async () => {
    const fresh = await nas.login();
    fresh.messages.length = 0;
    fresh.send({ jsonrpc: '2.0', method: 'pool.dataset.create', params: [{ name: 'tank/silent' }] });
    fresh.send({ jsonrpc: '2.0', method: 'no.such' });
    fresh.send({ jsonrpc: '1.0', method: 'core.ping' });
    await waitUntilHolds(() => nas.room.nas.datasets.has('tank/silent'), 'the dataset exists');
    await fresh.call('core.ping');
    expect(fresh.messages).toHaveLength(1);
  });

  test('an unknown method has no data', async () => {
    expect((await client.ask('vm.explode')).error).toEqual({ code: -32601, message: 'Method does not exist' });
  });

  test('a binary frame ends the connection with 1003', async () => {
    const fresh = await nas.login();
    fresh.socket.send(Buffer.from('{}'));
    await waitUntilHolds(() => fresh.closed !== undefined, 'it closes');
    expect(fresh.closed?.code).toBe(1003);
  });
});

describe('size limits', () => {
  test('more than 8 kB before the login ends the connection with 1007', async () => {
    const fresh = await nas.connect();
    fresh.post('core.ping', 'x'.repeat(9000));
    await waitUntilHolds(() => fresh.closed !== undefined, 'it closes');
    expect(fresh.closed).toEqual({ code: 1007, reason: 'Anonymous connection max message length is 8 kB' });
  });

  test('more than 64 kB after it with 1009', async () => {
    const fresh = await nas.login();
    fresh.post('core.ping', 'x'.repeat(70_000));
    await waitUntilHolds(() => fresh.closed !== undefined, 'it closes');
    expect(fresh.closed).toEqual({ code: 1009, reason: 'Max message length is 64 kB' });
  });

  test('a file in a message may have 2 MiB', async () => {
    const content = Buffer.alloc(1024 * 1024, 7);
    await client.call('filesystem.file_receive', '/mnt/tank/received', content.toString('base64'));
    expect((await client.call('filesystem.stat', '/mnt/tank/received')).size).toBe(content.length);
  });
});

describe('arguments', () => {
  test.each([
    ['too many', 'core.ping', ['x'], ['', 'Too many arguments (expected 0, found 1)', 22]],
    ['missing', 'vm.get_instance', [], ['id', 'Field required', 22]],
    ['a number as text', 'vm.get_instance', ['5'], ['id', 'Input should be a valid integer', 22]],
    ['an unknown key', 'vm.start', [1, { force: true }], ['options.force', 'Extra inputs are not permitted', 22]],
    [
      'a flag as text',
      'vm.start',
      [1, { overcommit: 'no' }],
      ['options.overcommit', 'Input should be a valid boolean', 22],
    ],
    [
      'a long text',
      'vm.create',
      [{ name: 'a', memory: 512, command_line_args: 'x'.repeat(1025) }],
      ['vm_create.command_line_args', 'String should have at most 1024 characters', 22],
    ],
    ['a bad filter', 'vm.query', [[['id', 'is', 1]]], ['filters', 'Value error, Invalid operation: is', 22]],
  ])('%s: the answer names the path', async (_, method, params, refusal) => {
    const { error } = await client.ask(method, ...params);
    expect(error).toMatchObject({ code: -32602, message: 'Invalid params' });
    expect(error?.data).toMatchObject({ error: 22, errname: 'EINVAL', extra: [refusal] });
    expect(error?.data.reason).toBe(`[EINVAL] ${refusal[0]}: ${refusal[1]}\n`);
    expect(error?.data.trace).toMatchObject({ class: 'ValidationErrors', frames: [] });
  });

  test('all errors are listed at once', async () => {
    const { error } = await client.ask('vm.create', { memory: '5', vlan: 3 });
    expect(error?.data.extra.map(([path]: [string]) => path).sort()).toEqual([
      'vm_create.memory',
      'vm_create.name',
      'vm_create.vlan',
    ]);
  });
});

describe('unknown objects', () => {
  test('get_instance, update and delete: -32602 with ENOENT and no attribute', async () => {
    for (const [method, ...params] of [
      ['vm.get_instance', 5],
      ['vm.update', 5, {}],
      ['vm.delete', 5],
    ] as const) {
      const { error } = await client.ask(method, ...params);
      expect(error?.code).toBe(-32602);
      expect(error?.data).toMatchObject({ error: 22, reason: '[ENOENT] None: VM 5 does not exist' });
      expect(error?.data.extra).toEqual([[null, 'VM 5 does not exist', 2]]);
    }
  });

  test('a query with get: -32001 with EINVAL, distinguished only by its text', async () => {
    const { error } = await client.ask('vm.query', [['id', '=', 5]], { get: true });
    expect(error).toMatchObject({ code: -32001, message: 'Method call error' });
    expect(error?.data).toMatchObject({ error: 22, errname: 'EINVAL', reason: 'MatchNotFound()', extra: null });
  });

  test('vm.status: the same', async () => {
    expect((await client.ask('vm.status', 5)).error?.data.reason).toBe('MatchNotFound()');
  });

  test('pool.dataset.update answers in a third format', async () => {
    const { error } = await client.ask('pool.dataset.update', 'tank/none', {});
    expect(error?.data.extra).toEqual([['id', 'tank/none does not exist', 2]]);
  });
});

describe('queries', () => {
  test('filter, select, order, count and page', async () => {
    for (const name of ['b', 'a', 'c']) await client.call('pool.dataset.create', { name: `tank/${name}` });
    const names = (...args: unknown[]) => client.call('pool.dataset.query', ...args);
    const some = [['id', 'in', ['tank/a', 'tank/b', 'tank/c']]];
    expect(await names(some, { count: true })).toBe(3);
    expect(await names(some, { select: ['id'], order_by: ['-id'], limit: 2 })).toEqual([
      { id: 'tank/c' },
      { id: 'tank/b' },
    ]);
    expect(
      await names(
        [
          [
            'OR',
            [
              ['id', '=', 'tank/a'],
              [
                ['id', '^', 'tank/'],
                ['id', '$', '/b'],
              ],
            ],
          ],
        ],
        { count: true },
      ),
    ).toBe(2);
    expect(
      await names(
        [
          ['available.parsed', '>', 0],
          ['id', 'C=', 'TANK/A'],
        ],
        { select: [['id', 'name']], get: true },
      ),
    ).toEqual({
      name: 'tank/a',
    });
  });
});

describe('concurrency', () => {
  test('ten run, ten wait, and the twenty-first is refused without running', async () => {
    const slow = await startTrueNasFixture({ scale: 0.05 });
    try {
      const busy = await slow.connect();
      // Wrong logins take one or two simulated seconds.
      const wrong = { mechanism: 'API_KEY_PLAIN', username: 'root', api_key: '9-wrong' };
      const ids = Array.from({ length: 21 }, () => busy.post('auth.login_ex', wrong));
      const refused = await busy.answerTo(ids[20]);
      expect(refused.error).toEqual({
        code: -32000,
        message: 'Maximum number of concurrent calls (20) has exceeded',
      });
      expect((await busy.answerTo(ids[19])).result).toEqual({ response_type: 'AUTH_ERR' });
      expect(slow.switchboard.calls).toHaveLength(20);
    } finally {
      await slow.close();
    }
  });
});

describe('endpoints', () => {
  const page = async (path: string) => {
    const { Agent } = await import('undici');
    const dispatcher = new Agent({ connect: { ca: nas.ca } });
    const answer = await request(new URL(path, nas.room.line.url.replace('wss:', 'https:')), { dispatcher });
    const text = await answer.body.text();
    await dispatcher.close();
    return { status: answer.statusCode, text };
  };

  test('/api/versions lists the pinned versions; there is no 25.10.6 among them', async () => {
    const versions = JSON.parse((await page('/api/versions')).text);
    expect(versions).toContain('v25.10.0');
    expect(versions.at(-1)).toBe('v25.10.5');
  });

  test('/api/boot_id needs no login', async () => {
    expect(JSON.parse((await page('/api/boot_id')).text)).toBe(nas.room.nas.bootId);
  });

  test('a pinned endpoint works, a two-part version does not exist', async () => {
    expect(await (await nas.connect('/api/v25.10.0')).call('core.ping')).toBe('pong');
    const wrong = await nas.connect('/api/v25.10');
    expect(wrong.socket.readyState).toBe(3);
  });

  test('an old endpoint lacks the methods that its release lacked', async () => {
    const old = await nas.connect('/api/v25.04.0');
    expect((await old.ask('vm.query')).error?.code).toBe(-32601);
    const newer = await nas.connect('/api/v25.04.2');
    expect((await newer.ask('vm.query')).error?.data.error).toBe(207);
  });
});
