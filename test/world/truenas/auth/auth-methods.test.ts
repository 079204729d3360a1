import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { RawClient, startTrueNasFixture, type TrueNasFixture } from '../testing/true-nas-fixture.ts';
import { validOneTimePassword } from './login.ts';

const key = 'a'.repeat(64);
const seed = {
  users: [
    { name: 'root', apiKey: key },
    { name: 'late', apiKey: key, expiresAt: '2020-01-01T00:00:00Z' },
    { name: 'gone', apiKey: key, revoked: 'leaked' },
    { name: 'careful', apiKey: null, password: 'secret', twoFactor: true },
    { name: 'small', apiKey: key, roles: ['VM_WRITE', 'DATASET_WRITE', 'READONLY_ADMIN'] },
    { name: 'reader', apiKey: key, roles: ['VM_READ'] },
  ],
};
let nas: TrueNasFixture;

beforeEach(async () => {
  nas = await startTrueNasFixture({ seed });
});
afterEach(() => nas.close());

const withKey = (username: string, api_key: string) => ({ mechanism: 'API_KEY_PLAIN', username, api_key });

async function loginAs(username: string, id: number): Promise<RawClient> {
  const client = await nas.connect();
  const answer = await client.call('auth.login_ex', withKey(username, `${id}-${key}`));
  expect(answer.response_type).toBe('SUCCESS');
  return client;
}

describe('auth.login_ex', () => {
  test('a valid key: SUCCESS with user_info', async () => {
    const answer = await (await nas.connect()).call('auth.login_ex', withKey('root', `1-${key}`));
    expect(answer).toMatchObject({
      response_type: 'SUCCESS',
      authenticator: 'LEVEL_1',
      user_info: { pw_name: 'root' },
    });
    expect(answer.user_info.privilege.roles.$set).toContain('FULL_ADMIN');
  });

  test.each([
    ['a wrong key', withKey('root', '1-nonsense'), { response_type: 'AUTH_ERR' }],
    ["another user's key", withKey('small', `1-${key}`), { response_type: 'AUTH_ERR' }],
    ['an expired key', withKey('late', `2-${key}`), { response_type: 'EXPIRED' }],
    ['a revoked key', withKey('gone', `3-${key}`), { response_type: 'EXPIRED' }],
    [
      'a password that needs a second factor',
      { mechanism: 'PASSWORD_PLAIN', username: 'careful', password: 'secret' },
      { response_type: 'OTP_REQUIRED', username: 'careful' },
    ],
    ['an unknown token', { mechanism: 'TOKEN_PLAIN', token: 'x' }, { response_type: 'AUTH_ERR' }],
  ])('%s is a successful JSON-RPC answer without a login', async (_, data, result) => {
    const client = await nas.connect();
    expect((await client.ask('auth.login_ex', data)).result).toEqual(result);
    expect((await client.ask('system.version')).error?.data).toMatchObject({
      error: 207,
      errname: 'ENOTAUTHENTICATED',
      reason: '[ENOTAUTHENTICATED] Not authenticated',
    });
  });

  test('the second factor completes the login, and is refused without a pending login', async () => {
    const client = await nas.connect();
    const otp = { mechanism: 'OTP_TOKEN', otp_token: validOneTimePassword };
    expect((await client.ask('auth.login_ex', otp)).error?.data.error).toBe(22);
    await client.call('auth.login_ex', { mechanism: 'PASSWORD_PLAIN', username: 'careful', password: 'secret' });
    expect((await client.call('auth.login_ex', otp)).response_type).toBe('SUCCESS');
  });

  test('the user name is mandatory, and the error path names the mechanism', async () => {
    const { error } = await (await nas.connect()).ask('auth.login_ex', { mechanism: 'API_KEY_PLAIN', api_key: 'x' });
    expect(error?.data.extra).toEqual([['login_data.API_KEY_PLAIN.username', 'Field required', 22]]);
  });

  test('a valid key over an unencrypted connection is revoked', async () => {
    const plain = await RawClient.open(nas.room.line.url.replace('wss:', 'ws:'));
    expect((await plain.call('auth.login_ex', withKey('root', `1-${key}`))).response_type).toBe('EXPIRED');
    plain.close();
    const secure = await nas.connect();
    expect((await secure.call('auth.login_ex', withKey('root', `1-${key}`))).response_type).toBe('EXPIRED');
    expect(nas.room.dump().keys[0]).toMatchObject({ revokedReason: 'Attempt to use over an insecure transport' });
  });

  test('a wrong key over an unencrypted connection revokes nothing', async () => {
    const plain = await RawClient.open(nas.room.line.url.replace('wss:', 'ws:'));
    expect((await plain.call('auth.login_ex', withKey('root', '1-wrong'))).response_type).toBe('AUTH_ERR');
    plain.close();
    expect((await loginAs('root', 1)).closed).toBeUndefined();
  });

  test('the older methods answer true or false', async () => {
    const client = await nas.connect();
    expect(await client.call('auth.login_with_api_key', `9-${key}`)).toBe(false);
    expect(await client.call('auth.login_with_api_key', `1-${key}`)).toBe(true);
    expect(await client.call('auth.logout')).toBe(true);
    expect((await client.ask('auth.me')).error?.data.error).toBe(207);
    expect(await client.call('auth.login', 'careful', 'secret')).toBe(false);
    expect(await client.call('auth.login', 'careful', 'secret', validOneTimePassword)).toBe(true);
  });

  test('a generated token logs in; a single-use token does so once', async () => {
    const client = await loginAs('root', 1);
    const token = await client.call('auth.generate_token', 600, {}, true, true);
    const other = await nas.connect();
    const data = { mechanism: 'TOKEN_PLAIN', token };
    expect((await other.call('auth.login_ex', data)).response_type).toBe('SUCCESS');
    expect((await (await nas.connect()).call('auth.login_ex', data)).response_type).toBe('AUTH_ERR');
  });
});

describe('before the login', () => {
  test('pings are limited to twenty a minute for each address, then they are slow and fail', async () => {
    await nas.close();
    // So slow that a minute is longer than the test.
    nas = await startTrueNasFixture({ seed, scale: 0.02 });
    const client = await nas.connect();
    for (let count = 0; count < 20; count++) expect(await client.call('core.ping')).toBe('pong');
    expect((await client.ask('core.ping')).error?.data).toMatchObject({
      error: 16,
      reason: '[EBUSY] Rate Limit Exceeded',
    });
  });

  test('core.set_options needs no login and has no limit', async () => {
    const client = await nas.connect();
    for (let count = 0; count < 25; count++) {
      expect(await client.call('core.set_options', { legacy_jobs: false })).toEqual({
        legacy_jobs: false,
        private_methods: false,
        py_exceptions: false,
      });
    }
  });

  test('after the login there is no limit', async () => {
    const client = await loginAs('root', 1);
    for (let count = 0; count < 30; count++) expect(await client.call('core.ping')).toBe('pong');
  });
});

describe('sessions', () => {
  test('an expired session is reported once, and is logged out then', async () => {
    const client = await loginAs('root', 1);
    nas.room.expireSessions();
    expect((await client.ask('vm.query')).error?.data).toMatchObject({
      error: 13,
      reason: '[EACCES] Session is expired',
    });
    expect((await client.ask('vm.query')).error?.data.error).toBe(207);
    expect((await client.call('auth.login_ex', withKey('root', `1-${key}`))).response_type).toBe('SUCCESS');
  });
});

describe('roles', () => {
  test('a method outside of the role is refused with EACCES', async () => {
    const reader = await loginAs('reader', 5);
    expect(await reader.call('vm.query')).toEqual([]);
    expect((await reader.ask('vm.create', { name: 'a', memory: 512 })).error?.data).toMatchObject({
      error: 13,
      errname: 'EACCES',
      reason: '[EACCES] Not authorized',
    });
    expect((await reader.ask('vm.device.query')).error?.data.error).toBe(13);
    expect(await reader.call('system.version')).toBe('TrueNAS-25.10.6');
  });

  test('roles include others; writing datasets does not include deleting them', async () => {
    const small = await loginAs('small', 4);
    await small.call('pool.dataset.create', { name: 'tank/x' });
    expect(await small.call('vm.query')).toEqual([]);
    expect((await small.ask('pool.dataset.delete', 'tank/x')).error?.data.error).toBe(13);
  });

  test('an upload needs FULL_ADMIN whatever other roles the user has', async () => {
    const form = new (await import('undici')).FormData();
    form.append('data', JSON.stringify({ method: 'filesystem.put', params: ['/mnt/tank/file'] }));
    form.append('file', new Blob(['x']), 'file');
    expect((await nas.post(form, { authorization: `Bearer 4-${key}` })).status).toBe(403);
  });

  test('a user cannot subscribe to events of a collection that the role does not cover', async () => {
    const reader = await loginAs('reader', 5);
    expect(await reader.call('core.subscribe', 'vm.query')).toMatch(/^[0-9a-f-]{36}$/);
    expect(await reader.call('core.subscribe', 'core.get_jobs')).toMatch(/^[0-9a-f-]{36}$/);
    expect((await reader.ask('core.subscribe', 'pool.dataset.query')).error?.data.error).toBe(13);
  });
});
