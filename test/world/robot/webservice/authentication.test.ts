import { afterEach, describe, expect, it } from 'vitest';
import { statusAndCodeOf, useRobotFixtures } from '../robot-fixture.ts';

const { enter, closeAll } = useRobotFixtures();
afterEach(closeAll);

const wrong = { login: '#ws+Wr1dRbt7:no' };

describe('authentication', () => {
  it('a wrong password is refused before any lookup', async () => {
    const { ask } = await enter();
    const answer = await ask('GET /server/1', wrong);
    expect(statusAndCodeOf(answer)).toBe('401 UNAUTHORIZED');
    expect(answer.headers['www-authenticate']).toMatch(/^Basic /);
  });

  it('three failed logins lock only that address out for ten minutes, also with valid credentials', async () => {
    const { ask, room, clock } = await enter();
    for (let i = 0; i < 3; i += 1) expect(statusAndCodeOf(await ask('GET /server', wrong))).toBe('401 UNAUTHORIZED');
    expect(statusAndCodeOf(await ask('GET /server'))).toBe('401 UNAUTHORIZED');
    expect((await ask('GET /server', { from: '127.0.0.2' })).status).toBe(200);
    expect(room.lockouts()).toEqual(['127.0.0.1']);
    await clock.pass(599);
    expect((await ask('GET /server')).status).toBe(401);
    await clock.pass(1);
    expect((await ask('GET /server')).status).toBe(200);
  });

  it('two failures expire after a while, and a success between them does not reset the count', async () => {
    const { ask, room, clock } = await enter();
    for (let i = 0; i < 2; i += 1) await ask('GET /server', wrong);
    await clock.pass(600);
    await ask('GET /server', wrong);
    expect((await ask('GET /server')).status).toBe(200);
    await ask('GET /server', wrong);
    expect(room.lockouts()).toEqual([]);
    await ask('GET /server');
    await ask('GET /server', wrong);
    expect(room.lockouts()).toEqual(['127.0.0.1']);
  });

  it('a call without credentials is refused, and is not a failed login', async () => {
    const { ask, room } = await enter();
    for (let i = 0; i < 4; i += 1)
      expect(statusAndCodeOf(await ask('GET /server', { login: null }))).toBe('401 UNAUTHORIZED');
    expect(room.lockouts()).toEqual([]);
  });

  it.each([
    ['forbidden', '403 FORBIDDEN'],
    ['drop', 'nothing'],
  ] as const)('the answer to a blocked client is undocumented: %s is available', async (blocked, seen) => {
    const { ask } = await enter({ behaviour: { blocked } });
    for (let i = 0; i < 3; i += 1) await ask('GET /server', wrong);
    expect(await ask('GET /server').then(statusAndCodeOf, () => 'nothing')).toBe(seen);
  });

  it('after a password change the old one is a failed login', async () => {
    const { ask, room } = await enter();
    room.changePassword('new');
    expect((await ask('GET /server')).status).toBe(401);
    expect((await ask('GET /server', { login: '#ws+Wr1dRbt7:new' })).status).toBe(200);
  });

  it('servers of other accounts look like unknown ones', async () => {
    const accounts = [{ password: 'a' }, { user: '#ws+other', password: 'b' }];
    const { ask } = await enter({ accounts, servers: [{ number: 11 }, { number: 12, account: '#ws+other' }] });
    const numbers = async (login?: string) =>
      (await ask('GET /server', login ? { login } : {})).body.map((one: { server: object }) => one.server);
    expect(await numbers()).toMatchObject([{ server_number: 11 }]);
    expect(await numbers('#ws+other:b')).toMatchObject([{ server_number: 12 }]);
    for (const word of ['12', '13', 'x']) {
      for (const path of ['server', 'reset', 'boot']) {
        expect(statusAndCodeOf(await ask(`GET /${path}/${word}`))).toBe('404 SERVER_NOT_FOUND');
      }
      expect(statusAndCodeOf(await ask(`POST /boot/${word}/rescue`, { form: 'os=linux' }))).toBe(
        '404 SERVER_NOT_FOUND',
      );
      expect(statusAndCodeOf(await ask(`POST /reset/${word}`, { form: 'type=hw' }))).toBe('404 SERVER_NOT_FOUND');
    }
    expect(statusAndCodeOf(await ask('GET /ip/127.42.60.12'))).toBe('404 IP_NOT_FOUND');
  });
});

describe('hourly limits', () => {
  it.each([
    ['GET', '/server/3140011', '/server', 200],
    ['POST', '/reset/3140011', '/reset', 50],
    ['POST', '/vswitch', '/vswitch', 100],
    ['POST', '/failover/198.51.100.7', '/failover', 50],
  ])('%s %s: the documented number, whatever the answers are', async (method, path, bucket, limit) => {
    const { ask, room, clock } = await enter();
    for (let i = 0; i < limit; i += 1) expect((await ask(`${method} ${path}`)).status).not.toBe(403);
    const refused = await ask(`${method} ${path}`);
    expect(refused.body).toEqual({
      error: {
        status: 403,
        code: 'RATE_LIMIT_EXCEEDED',
        message: 'rate limit exceeded',
        max_request: limit,
        interval: 3600,
      },
    });
    expect(room.calls()).toEqual({ [`${method} ${bucket}`]: limit + 1 });
    await clock.pass(3599);
    expect((await ask(`${method} ${path}`)).status).toBe(403);
    await clock.pass(1);
    expect((await ask(`${method} ${path}`)).status).not.toBe(403);
  });

  it('the list of servers and one server share the same 200', async () => {
    const { ask } = await enter();
    for (let i = 0; i < 100; i += 1) await ask('GET /server');
    for (let i = 0; i < 100; i += 1) await ask('GET /server/3140011');
    expect((await ask('GET /server/3140012')).status).toBe(403);
    expect((await ask('GET /server')).status).toBe(403);
    expect((await ask('POST /server/3140011', { form: 'server_name=a' })).status).toBe(200);
  });

  it('the window slides: only calls older than an hour are free again', async () => {
    const { ask, clock } = await enter({ limits: { 'GET /reset': 2 } });
    const status = async () => (await ask('GET /reset/3140011')).status;
    await status();
    await clock.pass(1800);
    await status();
    await clock.pass(1800);
    expect(await status()).toBe(200);
    expect(await status()).toBe(403);
  });

  it('are counted by account, and a failed login costs nothing', async () => {
    const accounts = [{ password: 'a' }, { user: '#ws+other', password: 'b' }];
    const { ask } = await enter({ accounts, limits: { 'GET /server': 1 } });
    await ask('GET /server', wrong);
    expect((await ask('GET /server')).status).toBe(200);
    expect((await ask('GET /server')).status).toBe(403);
    expect((await ask('GET /server', { login: '#ws+other:b' })).status).toBe(200);
  });

  it('the field was also observed under another name', async () => {
    const { ask } = await enter({ behaviour: { rateLimitField: 'max_requests' }, limits: { 'GET /key': 0 } });
    expect((await ask('GET /key')).body.error).toMatchObject({ max_requests: 0, interval: 3600 });
  });
});

describe('the protocol', () => {
  it('bodies are forms: JSON is refused with any content type', async () => {
    const { ask } = await enter();
    const json = { form: '{"os":"linux"}' };
    for (const type of ['application/json', 'application/x-www-form-urlencoded']) {
      const answer = await ask('POST /boot/3140011/rescue', { ...json, type });
      expect(answer.body.error).toEqual({
        status: 400,
        code: 'INVALID_INPUT',
        message: 'invalid input',
        missing: null,
        invalid: null,
      });
    }
  });

  it.each(['GET /nosuch', 'PUT /server/3140011', 'POST /server', 'GET /boot', 'GET /storagebox'])(
    '%s does not exist',
    async (call) => {
      const { ask } = await enter();
      expect(statusAndCodeOf(await ask(call))).toBe('404 NOT_FOUND');
    },
  );

  it('uses TLS with its own CA only', async () => {
    const { room } = await enter();
    expect(room.line.url).toMatch(/^https:/);
    await expect(fetch(room.line.url)).rejects.toThrow();
    await expect(fetch(room.line.url.replace('https:', 'http:'))).rejects.toThrow();
  });
});

describe('faults', () => {
  it('maintenance: 503 to every call, without JSON', async () => {
    const { ask, room } = await enter();
    room.setMaintenance(true);
    const answer = await ask('GET /server', wrong);
    expect(answer).toMatchObject({ status: 503, body: undefined });
    room.setMaintenance(false);
    expect((await ask('GET /server')).status).toBe(200);
  });

  it('an error replaces the work: the code of the endpoint, and nothing is done', async () => {
    const { ask, room, switchboard } = await enter();
    switchboard.fail('robot', /^POST \/boot\/\{n\}\/rescue$/, { kind: 'error', code: 'BOOT_ACTIVATION_FAILED' });
    switchboard.fail('robot', /^POST \/reset\/\{n\}$/, { kind: 'error', code: 'RESET_FAILED' });
    const rescue = () => ask('POST /boot/3140011/rescue', { form: 'os=linux' });
    expect(statusAndCodeOf(await rescue())).toBe('500 BOOT_ACTIVATION_FAILED');
    expect(room.servers()[0]?.armed).toBeUndefined();
    expect(statusAndCodeOf(await ask('POST /reset/3140011', { form: 'type=power_long' }))).toBe('500 RESET_FAILED');
    expect(room.servers()[0]?.isOn).toBe(true);
    expect((await rescue()).status).toBe(200);
  });

  it('an answer may be other than JSON, or have no body', async () => {
    const { ask, switchboard } = await enter();
    const html = { 'content-type': 'text/html' };
    switchboard.fail('robot', /^GET/, { kind: 'error', status: 502, body: '<h1>Bad Gateway</h1>', headers: html });
    switchboard.fail('robot', /^GET/, { kind: 'error', status: 403, body: '' });
    expect(await ask('GET /server')).toMatchObject({ status: 502, text: '<h1>Bad Gateway</h1>', body: undefined });
    expect(await ask('GET /server')).toMatchObject({ status: 403, text: '' });
  });

  it('each call is recorded by its endpoint, with its server and without secrets', async () => {
    const { ask, switchboard } = await enter();
    await ask('POST /boot/3140011/rescue', { form: 'os=linux' });
    expect(switchboard.calls).toMatchObject([
      {
        room: 'robot',
        name: 'POST /boot/{n}/rescue',
        detail: { path: '/boot/3140011/rescue', server: '3140011' },
        from: '127.0.0.1',
      },
    ]);
    expect(JSON.stringify(switchboard.calls)).not.toContain('os=linux');
  });
});

describe('calls that are forbidden to provisioners', () => {
  it.each([
    ['GET /server/3140011/cancellation', 'cancellation_date=now'],
    ['POST /server/3140011/cancellation', 'cancellation_date=now'],
    ['DELETE /server/3140011/cancellation', ''],
    ['POST /server/3140011/reversal', 'reversal_reason=none'],
    ['POST /ip/127.42.60.11/cancellation', 'cancellation_date=now'],
    ['POST /subnet/2001:db8:60:e9da::/cancellation', 'cancellation_date=now'],
  ])('%s is refused, and stays on record', async (call, form) => {
    const { ask, room } = await enter();
    const answer = await ask(call, form === '' || call.startsWith('GET') ? {} : { form });
    expect(statusAndCodeOf(answer)).toBe('409 CONFLICT');
    expect(room.forbiddenCalls()).toEqual([call]);
    expect((await ask('GET /server/3140011')).body.server.cancelled).toBe(false);
  });

  it('orders are refused like a failed login, and count as one', async () => {
    const { ask, room } = await enter();
    for (let i = 0; i < 3; i += 1) expect((await ask('POST /order/server/transaction')).status).toBe(401);
    expect(room.forbiddenCalls()).toHaveLength(3);
    expect(room.lockouts()).toEqual(['127.0.0.1']);
  });
});
