import { afterEach, describe, expect, it } from 'vitest';
import { statusAndCodeOf, useRobotFixtures } from '../../../world/robot/robot-fixture.ts';
import { makeSshKey } from '../../../world/robot/setup/ssh-key.ts';
import { parsePublicKey } from '../../../world/robot/webservice/public-key.ts';

// What the client of the product calls is tested with it (src/platforms/hetzner-robot/api). Here is what it must not
// do, and the times and shapes that it relies on.

const { enter, closeAll } = useRobotFixtures();
afterEach(closeAll);

const wrong = { login: '#ws+Wr1dRbt7:no' };
const rescue = '/boot/3140011/rescue';

describe('authentication', () => {
  it('three failed logins lock only that address out for ten minutes, also with valid credentials', async () => {
    const { ask, simulator, clock } = await enter();
    for (let i = 0; i < 3; i += 1) expect(statusAndCodeOf(await ask('GET /server/1', wrong))).toBe('401 UNAUTHORIZED');
    const refused = await ask('GET /server');
    expect(statusAndCodeOf(refused)).toBe('401 UNAUTHORIZED');
    expect(refused.headers['www-authenticate']).toMatch(/^Basic /);
    expect((await ask('GET /server', { from: '127.0.0.2' })).status).toBe(200);
    expect(simulator.lockouts()).toEqual(['127.0.0.1']);
    await clock.pass(599);
    expect((await ask('GET /server')).status).toBe(401);
    await clock.pass(1);
    expect((await ask('GET /server')).status).toBe(200);
  });

  it('two failures expire after a while, and a success between them does not reset the count', async () => {
    const { ask, simulator, clock } = await enter();
    for (let i = 0; i < 2; i += 1) await ask('GET /server', wrong);
    await clock.pass(600);
    await ask('GET /server', wrong);
    expect((await ask('GET /server')).status).toBe(200);
    await ask('GET /server', wrong);
    expect(simulator.lockouts()).toEqual([]);
    await ask('GET /server');
    await ask('GET /server', wrong);
    expect(simulator.lockouts()).toEqual(['127.0.0.1']);
  });

  it('a call without credentials is refused, and is not a failed login', async () => {
    const { ask, simulator } = await enter();
    for (let i = 0; i < 4; i += 1)
      expect(statusAndCodeOf(await ask('GET /server', { login: null }))).toBe('401 UNAUTHORIZED');
    expect(simulator.lockouts()).toEqual([]);
  });

  it.each([
    'GET /server/12',
    'GET /reset/12',
    'GET /boot/13',
    'GET /boot/x',
    'POST /boot/12/rescue os=linux',
    'POST /reset/12 type=hw',
    'GET /ip/127.42.60.12',
  ])('servers of other accounts look like unknown ones: %s', async (line) => {
    const accounts = [{ password: 'a' }, { user: '#ws+other', password: 'b' }];
    const { ask } = await enter({ accounts, servers: [{ number: 11 }, { number: 12, account: '#ws+other' }] });
    const [method, path, form] = line.split(' ');
    const answer = await ask(`${method} ${path}`, form ? { form } : {});
    expect(statusAndCodeOf(answer)).toMatch(/^404 (?:SERVER|IP)_NOT_FOUND$/);
  });
});

describe('hourly limits', () => {
  it.each([
    ['GET', '/server/3140011', '/server', 200],
    ['POST', '/reset/3140011', '/reset', 50],
    ['POST', '/vswitch', '/vswitch', 100],
    ['POST', '/failover/198.51.100.7', '/failover', 50],
  ])('%s %s: the documented number, whatever the answers are', async (method, path, bucket, limit) => {
    const { ask, simulator, clock } = await enter();
    for (let i = 0; i < limit; i += 1) expect((await ask(`${method} ${path}`)).status).not.toBe(403);
    const refused = await ask(`${method} ${path}`);
    const error = { status: 403, code: 'RATE_LIMIT_EXCEEDED', message: 'rate limit exceeded' };
    expect(refused.body).toEqual({ error: { ...error, max_request: limit, interval: 3600 } });
    expect(simulator.calls()).toEqual({ [`${method} ${bucket}`]: limit + 1 });
    await clock.pass(3599);
    expect((await ask(`${method} ${path}`)).status).toBe(403);
    await clock.pass(1);
    expect((await ask(`${method} ${path}`)).status).not.toBe(403);
  });

  it('slide, are counted by account and group, and a failed login costs nothing', async () => {
    const accounts = [{ password: 'a' }, { user: '#ws+other', password: 'b' }];
    const { ask, clock } = await enter({ accounts, servers: [{ number: 7 }], limits: { 'GET /server': 2 } });
    const statusOf = async (path: string, login?: string) => (await ask(path, login ? { login } : {})).status;
    await ask('GET /server', wrong);
    expect(await statusOf('GET /server')).toBe(200);
    await clock.pass(1800);
    expect(await statusOf('GET /server/7')).toBe(200);
    expect(await statusOf('GET /server')).toBe(403);
    expect(await statusOf('GET /server', '#ws+other:b')).toBe(200);
    await clock.pass(1800);
    expect([await statusOf('GET /server'), await statusOf('GET /server')]).toEqual([200, 403]);
  });
});

describe('the protocol', () => {
  it.each(['application/json', 'application/x-www-form-urlencoded'])(
    'bodies are forms: JSON is refused as %s',
    async (type) => {
      const { ask } = await enter();
      const error = { status: 400, code: 'INVALID_INPUT', message: 'invalid input', missing: null, invalid: null };
      expect((await ask(`POST ${rescue}`, { form: '{"os":"linux"}', type })).body).toEqual({ error });
    },
  );

  it.each(['GET /nosuch', 'PUT /server/3140011', 'POST /server', 'GET /boot', 'GET /storagebox'])(
    '%s does not exist',
    async (call) => {
      const { ask } = await enter();
      expect(statusAndCodeOf(await ask(call))).toBe('404 NOT_FOUND');
    },
  );

  it('uses TLS with its own CA only', async () => {
    const { simulator } = await enter();
    await expect(fetch(simulator.line.url)).rejects.toThrow();
    await expect(fetch(simulator.line.url.replace('https:', 'http:'))).rejects.toThrow();
  });

  it('each call is recorded by its endpoint, with its server and without secrets', async () => {
    const { ask, switchboard } = await enter();
    await ask(`POST ${rescue}`, { form: 'os=linux' });
    const detail = { path: rescue, server: '3140011' };
    expect(switchboard.calls).toMatchObject([
      { simulator: 'robot', name: 'POST /boot/{n}/rescue', detail, from: '127.0.0.1' },
    ]);
    expect(JSON.stringify(switchboard.calls)).not.toContain('os=linux');
  });

  it.each([
    ['GET /server/3140011/cancellation', undefined],
    ['POST /server/3140011/cancellation', 'cancellation_date=now'],
    ['DELETE /server/3140011/cancellation', undefined],
    ['POST /server/3140011/reversal', 'reversal_reason=none'],
    ['POST /ip/127.42.60.11/cancellation', 'cancellation_date=now'],
    ['POST /subnet/2001:db8:60:e9da::/cancellation', 'cancellation_date=now'],
  ])('%s is refused, and stays on record', async (call, form) => {
    const { ask, simulator } = await enter();
    expect(statusAndCodeOf(await ask(call, form ? { form } : {}))).toBe('409 CONFLICT');
    expect(simulator.forbiddenCalls()).toEqual([call]);
    expect((await ask('GET /server/3140011')).body.server.cancelled).toBe(false);
  });

  it('orders are refused like a failed login, and count as one', async () => {
    const { ask, simulator } = await enter();
    for (let i = 0; i < 3; i += 1) expect((await ask('POST /order/server/transaction')).status).toBe(401);
    expect(simulator.forbiddenCalls()).toHaveLength(3);
    expect(simulator.lockouts()).toEqual(['127.0.0.1']);
  });
});

describe('parameters', () => {
  const [one, two] = [makeSshKey().public, makeSshKey().public];
  const [first, second] = [one, two].map((line) => parsePublicKey(line)?.fingerprint ?? '');
  const failovers = [{ ip: '198.51.100.7', server: 3140011 }];
  const seed = {
    accounts: [
      {
        keys: [
          { name: 'one', data: one },
          { name: 'two', data: two },
        ],
        failovers,
      },
    ],
  };
  const key = (data: string) => new URLSearchParams({ name: 'new', data }).toString();

  it.each([
    ['one plain', `authorized_key=${first}`, 1],
    ['the last one of a plain name', `authorized_key=${first}&authorized_key=${second}`, 1],
    ['brackets', `authorized_key[]=${first}&authorized_key[]=${second}`, 2],
    ['numbers, encoded', `authorized_key%5B0%5D=${first}&authorized_key%5B1%5D=${second}`, 2],
    ['capitals', `authorized_key=${first?.toUpperCase()}`, 1],
  ])('are forms of PHP: %s', async (_, keys, count) => {
    const { ask } = await enter(seed);
    expect((await ask(`POST ${rescue}`, { form: `os=linux&${keys}` })).body.rescue.authorized_key).toHaveLength(count);
  });

  it.each([
    [`POST ${rescue}`, '', { missing: ['os'], invalid: null }],
    [`POST ${rescue}`, 'os=windows', { missing: null, invalid: ['os'] }],
    [`POST ${rescue}`, 'os[]=linux', { missing: ['os'] }],
    [`POST ${rescue}`, 'os=linux&authorized_key=00:11', { invalid: ['authorized_key'] }],
    [`POST ${rescue}`, `os=linux&authorized_key=${encodeURIComponent(one)}`, { invalid: ['authorized_key'] }],
    ['POST /reset/3140011', '', { missing: ['type'] }],
    ['POST /reset/3140011', 'type=sw', { invalid: ['type'] }],
    ['POST /server/3140011', '', { missing: ['server_name'] }],
    ['POST /key', '', { missing: ['name', 'data'] }],
    ['POST /key', key('ssh-ed25519 AAAA'), { invalid: ['data'] }],
    ['POST /key', key('hello'), { invalid: ['data'] }],
    ['POST /key', key(one.replace('ssh-ed25519', 'ssh-rsa')), { invalid: ['data'] }],
    ['POST /vswitch', 'vlan=4010', { missing: ['name'] }],
    ['POST /vswitch', 'name=a&vlan=3999', { invalid: ['vlan'] }],
    ['POST /vswitch', 'name=a&vlan=4092', { invalid: ['vlan'] }],
    ['POST /failover/198.51.100.7', '', { missing: ['active_server_ip'] }],
  ])('%s with %j is refused with the name of the parameter', async (call, form, error) => {
    const { ask, simulator } = await enter(seed);
    expect((await ask(call, { form })).body.error).toMatchObject({ status: 400, code: 'INVALID_INPUT', ...error });
    expect(simulator.servers()[0]?.armed).toBeUndefined();
  });

  it('keys are unique by their blob, which the MD5 in their fingerprint shows, and have no comment', async () => {
    const { ask } = await enter();
    const answer = await ask('POST /key', { form: key(`${one} me@home`) });
    const shown = { name: 'new', fingerprint: first, type: 'ED25519', size: 256, data: one };
    expect(answer).toMatchObject({ status: 201, body: { key: { ...shown, created_at: '2031-01-01 00:00:00' } } });
    expect(statusAndCodeOf(await ask('POST /key', { form: key(`${one} other`) }))).toBe('409 KEY_ALREADY_EXISTS');
    await expect(enter({ accounts: [{ keys: [{ name: 'one', data: 'x' }] }] })).rejects.toThrow(RangeError);
  });

  it.each(['192.0.2.1', '2001:db8:60:e9db::'])('%s is no target of a failover address', async (target) => {
    const { ask } = await enter(seed);
    const form = `active_server_ip=${target}`;
    const code = '404 FAILOVER_NEW_SERVER_NOT_FOUND';
    expect(statusAndCodeOf(await ask('POST /failover/198.51.100.7', { form }))).toBe(code);
    expect(statusAndCodeOf(await ask('POST /failover/192.0.2.9', { form }))).toBe('404 NOT_FOUND');
  });
});

it('rescue has another password at each activation, and expires after an hour without a restart', async () => {
  const { ask, clock } = await enter();
  const arm = async () => (await ask(`POST ${rescue}`, { form: 'os=linux' })).body.rescue.password;
  const one = await arm();
  await clock.pass(3599);
  expect((await ask(`GET ${rescue}`)).body.rescue).toMatchObject({ active: true, password: one });
  await clock.pass(1);
  expect((await ask(`GET ${rescue}`)).body.rescue.active).toBe(false);
  expect(await arm()).not.toBe(one);
});

it('an armed installer stays when rescue is disarmed', async () => {
  const { ask, simulator } = await enter();
  const installer = { kind: 'linux', system: 'Debian 12 base', password: null, keys: [], at: 0 } as const;
  simulator.server(3140011).activation = installer;
  await ask(`DELETE ${rescue}`);
  expect(simulator.servers()[0]?.armed).toBe('linux');
});

it('answers have the irregular shapes of the real one', async () => {
  const { ask } = await enter();
  const bodyOf = async (call: string) => (await ask(call)).body;
  const triple = { server_ip: '127.42.60.11', server_ipv6_net: '2001:db8:60:e9da::', server_number: 3140011 };
  const names = { server_name: '', product: 'AX42', dc: 'FSN1-DC18', traffic: 'unlimited' };
  const contract = { status: 'ready', cancelled: false, paid_until: '2031-05-14' };
  const addresses = { ip: ['127.42.60.11'], subnet: [{ ip: '2001:db8:60:e9da::', mask: '64' }] };
  const server = { ...triple, ...names, ...contract, ...addresses };
  const flags = { reset: true, rescue: true, vnc: true, windows: false, plesk: false, cpanel: false };
  expect((await bodyOf('GET /server'))[0]).toEqual({ server });
  const more = { wol: true, hot_swap: false, linked_storagebox: null };
  expect(await bodyOf('GET /server/3140011')).toEqual({ server: { ...server, ...flags, ...more } });
  const ip = { gateway: '127.42.60.1', mask: 26, broadcast: '127.42.60.63', separate_mac: null };
  expect((await bodyOf('GET /ip/127.42.60.11')).ip).toMatchObject(ip);
  const subnet = { ip: '2001:db8:60:e9da::', mask: 64, gateway: 'fe80::1', failover: false };
  expect(await bodyOf('GET /subnet?server_ip=127.42.60.11')).toMatchObject([{ subnet }]);
  const reset = { type: ['power', 'power_long', 'hw', 'man'], operating_status: 'running' };
  expect((await bodyOf('GET /reset/3140011')).reset).toEqual({ ...triple, ...reset });
  for (const path of ['/key', '/subnet?server_ip=192.0.2.1', '/vswitch/1'])
    expect(await bodyOf(`GET ${path}`)).toEqual({ error: { status: 404, code: 'NOT_FOUND', message: 'not found' } });
  expect(await ask('GET /vswitch')).toMatchObject({ status: 200, text: '[]' });
  const made = await ask('POST /vswitch', { form: 'name=a&vlan=4010' });
  expect(made).toMatchObject({ status: 201, body: { server: [], subnet: [], cloud_network: [] } });
});
