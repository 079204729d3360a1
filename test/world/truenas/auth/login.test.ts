import { createHash, createHmac, pbkdf2Sync, randomBytes, X509Certificate } from 'node:crypto';
import { connect } from 'node:tls';
import { afterEach, describe, expect, test } from 'vitest';
import { RawClient, startTrueNasFixture, type TrueNasFixture, waitUntilHolds } from '../testing/true-nas-fixture.ts';

const secret = 'a'.repeat(64);
const seed = {
  users: [
    { name: 'root', apiKey: secret },
    { name: 'late', apiKey: secret, expiresAt: '2020-01-01T00:00:00Z' },
    { name: 'gone', apiKey: secret, revoked: 'leaked' },
    { name: 'nobody', apiKey: secret, roles: [] },
    { name: 'endless', apiKey: secret, roles: ['VM_READ', 'SYSTEM_PRODUCT_WRITE'] },
    { name: 'granter', apiKey: secret, roles: ['PRIVILEGE_WRITE'] },
  ],
};
let nas: TrueNasFixture;
afterEach(() => nas.close());

const plain = (username: string, id: number) => ({
  mechanism: 'API_KEY_PLAIN',
  username,
  api_key: `${id}-${secret}`,
});

describe.each([
  ['25.04.2', { revoked: 'EXPIRED', nobody: 'AUTH_ERR', granter: undefined }],
  ['25.10', { revoked: 'EXPIRED', nobody: 'AUTH_ERR', granter: undefined }],
  ['26', { revoked: 'AUTH_ERR', nobody: 'DENIED', granter: 'SUCCESS' }],
])('the login answers of %s', (version, expected) => {
  const answers = async (username: string, id: number) => {
    const { result, error } = await (await nas.connect()).ask('auth.login_ex', plain(username, id));
    return error ? error.data.reason : result.response_type;
  };

  test('refuse a revoked key and a user without a role', async () => {
    nas = await startTrueNasFixture({ seed, version });
    expect(await answers('late', 2)).toBe('EXPIRED');
    expect(await answers('gone', 3)).toBe(expected.revoked);
    expect(await answers('nobody', 4)).toBe(expected.nobody);
  });

  test('S58: a role that includes itself breaks the login of its users', async () => {
    nas = await startTrueNasFixture({ seed, version });
    expect(await answers('endless', 5)).toBe('maximum recursion depth exceeded');
    expect(await answers('granter', 6)).toBe(expected.granter ?? 'maximum recursion depth exceeded');
    expect(await answers('root', 1)).toBe('SUCCESS');
  });

  test('a standby controller redirects every login to the active controller', async () => {
    nas = await startTrueNasFixture({ seed: { ...seed, activeController: ['192.0.2.7'] }, version });
    const answer = await (await nas.connect()).call('auth.login_ex', plain('root', 1));
    expect(answer).toEqual({ response_type: 'REDIRECT', urls: ['192.0.2.7'] });
  });

  test('depend on the release: mechanisms, and a token to reconnect', async () => {
    nas = await startTrueNasFixture({ seed, version });
    const client = await nas.connect();
    const before = await client.ask('auth.mechanism_choices');
    if (version === '25.04.2') expect(before.error?.data.reason).toMatch(/has no attribute 'may_create_auth_token'/);
    else expect(before.result.includes('SCRAM')).toBe(version === '26');
    const login = { ...plain('root', 1), login_options: { reconnect_token: true } };
    const { result, error } = await client.ask('auth.login_ex', login);
    if (version !== '26') {
      const path = 'login_data.API_KEY_PLAIN.login_options.reconnect_token';
      expect(error?.data.extra).toEqual([[path, 'Extra inputs are not permitted', 22]]);
      return;
    }
    const again = { mechanism: 'TOKEN_PLAIN', token: result.reconnect_token };
    expect((await (await nas.connect()).call('auth.login_ex', again)).response_type).toBe('SUCCESS');
    expect((await (await nas.connect()).call('auth.login_ex', again)).response_type).toBe('AUTH_ERR');
  });
});

test('an address that is not in the list is refused', async () => {
  nas = await startTrueNasFixture({ seed: { ...seed, allowed: ['192.0.2.0/24', '2001:db8::/64'] } });
  const client = await nas.connect();
  await waitUntilHolds(() => client.closed !== undefined, 'it is closed');
  expect(client.closed).toEqual({ code: 1008, reason: 'You are not allowed to access this resource' });
  nas.room.nas.allowed = ['127.0.0.0/8'];
  expect((await nas.login()).closed).toBeUndefined();
});

/** Both messages of a client (RFC 5802), with the certificate's hash for channel binding. */
async function scram(client: RawClient, user: string, binding?: Buffer, key = secret) {
  const hmac = (by: Buffer, text: string) => createHmac('sha512', by).update(text).digest();
  const header = binding ? 'p=tls-server-end-point,,' : 'n,,';
  const own = randomBytes(32);
  const bare = `n=${user},r=${own.toString('base64')}`;
  const send = (scram_type: string, rfc_str: string) =>
    client.call('auth.login_ex', { mechanism: 'SCRAM', scram_type, rfc_str });
  const first = await send('CLIENT_FIRST_MESSAGE', header + bare);
  if (first.response_type !== 'SCRAM_RESPONSE') return first;
  const [, nonce = '', salt = '', schedule] = /^r=([^,]+),s=([^,]+),i=(\d+)$/.exec(first.rfc_str) ?? [];
  // Bytes are concatenated, not strings.
  expect(Buffer.from(nonce, 'base64').subarray(0, 32)).toEqual(own);
  const salted = pbkdf2Sync(key, Buffer.from(salt, 'base64'), Number(schedule), 64, 'sha512');
  const clientKey = hmac(salted, 'Client Key');
  const bound = Buffer.concat([Buffer.from(header), binding ?? Buffer.alloc(0)]).toString('base64');
  const message = `${bare},${first.rfc_str},c=${bound},r=${nonce}`;
  const signature = hmac(createHash('sha512').update(clientKey).digest(), message);
  const proof = Buffer.from(clientKey.map((byte, index) => byte ^ (signature[index] ?? 0))).toString('base64');
  const final = await send('CLIENT_FINAL_MESSAGE', `c=${bound},r=${nonce},p=${proof}`);
  const server = `v=${hmac(hmac(salted, 'Server Key'), message).toString('base64')}`;
  return { ...final, isGenuine: final.rfc_str === server };
}

async function certificateHash(): Promise<Buffer> {
  const { hostname, port } = new URL(nas.room.line.url);
  const socket = connect({ host: hostname, port: Number(port), ca: nas.ca });
  await new Promise((resolve) => socket.once('secureConnect', resolve));
  const { raw } = new X509Certificate(socket.getPeerCertificate().raw);
  socket.destroy();
  return createHash('sha256').update(raw).digest();
}

describe('SCRAM (26)', () => {
  test('logs in without sending the key, with or without channel binding', async () => {
    nas = await startTrueNasFixture({ seed, version: '26' });
    for (const binding of [undefined, await certificateHash()]) {
      const client = await nas.connect();
      expect(await scram(client, 'root:1', binding)).toMatchObject({
        response_type: 'SCRAM_RESPONSE',
        scram_type: 'SERVER_FINAL_RESPONSE',
        user_info: { pw_name: 'root' },
        isGenuine: true,
      });
      expect(await client.call('system.version_short')).toBe('26.0.0-BETA.3');
    }
  });

  test.each([
    ['a wrong key', 'root:1', 'b'.repeat(64)],
    ['the key of another user', 'root:4', secret],
    ['an expired key', 'late:2', secret],
    ['an invalid message', 'root', secret],
  ])('%s is AUTH_ERR without a login', async (_, user, key) => {
    nas = await startTrueNasFixture({ seed, version: '26' });
    const client = await nas.connect();
    expect(await scram(client, user, undefined, key)).toMatchObject({ response_type: 'AUTH_ERR' });
    expect((await client.ask('system.version')).error?.data.error).toBe(207);
  });

  test('a different certificate is detected, and so is a binding over an unencrypted connection', async () => {
    nas = await startTrueNasFixture({ seed, version: '26' });
    const other = createHash('sha256').update('another certificate').digest();
    expect(await scram(await nas.connect(), 'root:1', other)).toMatchObject({ response_type: 'AUTH_ERR' });
    const bare = await RawClient.open(nas.room.line.url.replace('wss:', 'ws:'));
    expect(await scram(bare, 'root:1', other)).toMatchObject({ response_type: 'AUTH_ERR' });
    bare.close();
    expect(nas.room.dump().keys[0]).toMatchObject({ revokedReason: null });
  });

  test('a final message must follow a first one directly', async () => {
    nas = await startTrueNasFixture({ seed, version: '26' });
    const client = await nas.connect();
    const final = { mechanism: 'SCRAM', scram_type: 'CLIENT_FINAL_MESSAGE', rfc_str: 'c=biws,r=x,p=eA==' };
    expect((await client.ask('auth.login_ex', final)).error?.data.reason).toBe('pam handle was not initialized');
    const nonce = randomBytes(32).toString('base64');
    const first = { ...final, scram_type: 'CLIENT_FIRST_MESSAGE', rfc_str: `n,,n=root:1,r=${nonce}` };
    expect((await client.call('auth.login_ex', first)).scram_type).toBe('SERVER_FIRST_RESPONSE');
    await client.call('auth.login_ex', plain('gone', 3));
    expect((await client.ask('auth.login_ex', final)).error?.data.error).toBe(22);
  });

  test('earlier releases do not support it', async () => {
    nas = await startTrueNasFixture({ seed });
    const first = { mechanism: 'SCRAM', scram_type: 'CLIENT_FIRST_MESSAGE', rfc_str: 'n,,n=root:1,r=x' };
    const { error } = await (await nas.connect()).ask('auth.login_ex', first);
    expect(error?.data.extra[0][1]).toMatch(/^Input tag 'SCRAM' found using 'mechanism' does not match/);
  });
});
