import { createHash, createHmac, pbkdf2Sync, randomBytes, X509Certificate } from 'node:crypto';
import { connect } from 'node:tls';
import { describe, expect, test } from 'vitest';
import { openTrueNas } from '../testing/open-true-nas.ts';
import { RawClient, type TrueNasFixture } from '../testing/true-nas-fixture.ts';

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
const withKey = (username: string, api_key: string) => ({ mechanism: 'API_KEY_PLAIN', username, api_key });
const plain = (username: string, id: number) => withKey(username, `${id}-${secret}`);
const open = (version = '25.10', scale = 0.001) => openTrueNas({ seed, version, scale });

describe.each([
  ['25.04.2', { revoked: 'EXPIRED', nobody: 'AUTH_ERR', granter: 'maximum recursion depth exceeded' }],
  ['25.10', { revoked: 'EXPIRED', nobody: 'AUTH_ERR', granter: 'maximum recursion depth exceeded' }],
  ['26', { revoked: 'AUTH_ERR', nobody: 'DENIED', granter: 'SUCCESS' }],
])('the login answers of %s', (version, expected) => {
  test('S58: refuse keys, users without a role, and users with a role that includes itself', async () => {
    const { nas } = await open(version);
    const answer = async (data: object) => {
      const { result, error } = await (await nas.connect()).ask('auth.login_ex', data);
      return error ? error.data.reason : result.response_type;
    };
    expect(await answer(plain('root', 1))).toBe('SUCCESS');
    expect(await answer(withKey('root', '1-nonsense'))).toBe('AUTH_ERR');
    expect(await answer(plain('nobody', 1))).toBe('AUTH_ERR');
    expect(await answer(plain('late', 2))).toBe('EXPIRED');
    expect(await answer(plain('gone', 3))).toBe(expected.revoked);
    expect(await answer(plain('nobody', 4))).toBe(expected.nobody);
    expect(await answer(plain('endless', 5))).toBe('maximum recursion depth exceeded');
    expect(await answer(plain('granter', 6))).toBe(expected.granter);
  });
});

describe('auth.login_ex', () => {
  test('lists the roles of the user; without a login every call is refused', async () => {
    const { nas } = await open();
    const client = await nas.connect();
    expect((await client.ask('system.version_short')).error?.data).toMatchObject({
      ...{ error: 207, errname: 'ENOTAUTHENTICATED', reason: '[ENOTAUTHENTICATED] Not authenticated' },
    });
    const { user_info: user } = await client.call('auth.login_ex', plain('root', 1));
    expect(user).toMatchObject({ pw_name: 'root' });
    expect(user.privilege.roles.$set).toEqual(expect.arrayContaining(['FULL_ADMIN', 'VM_READ']));
  });

  test('names the mechanism in the path of an error', async () => {
    const { refusals: rejections } = await open();
    expect(await rejections('auth.login_ex', { mechanism: 'API_KEY_PLAIN', api_key: 'x' })).toEqual([
      ['login_data.API_KEY_PLAIN.username', 'Field required', 22],
    ]);
    const first = { mechanism: 'SCRAM', scram_type: 'CLIENT_FIRST_MESSAGE', rfc_str: 'n,,n=root:1,r=x' };
    expect((await rejections('auth.login_ex', first))?.[0]?.[1]).toMatch(
      /^Input tag 'SCRAM' found using 'mechanism' does not match/,
    );
  });

  test('S39: over an unencrypted connection it revokes a valid key, and no other', async () => {
    const { nas } = await open();
    const bare = await RawClient.open(nas.simulator.line.url.replace('wss:', 'ws:'));
    expect((await bare.call('auth.login_ex', withKey('root', '1-wrong'))).response_type).toBe('AUTH_ERR');
    expect(nas.simulator.dump().keys[0]).toMatchObject({ revokedReason: null });
    expect((await bare.call('auth.login_ex', plain('root', 1))).response_type).toBe('EXPIRED');
    bare.close();
    expect((await (await nas.connect()).call('auth.login_ex', plain('root', 1))).response_type).toBe('EXPIRED');
    expect(nas.simulator.dump().keys[0]).toMatchObject({ revokedReason: 'Attempt to use over an insecure transport' });
  });

  test('before it, pings are limited to twenty a minute for each address; core.set_options is not', async () => {
    // So slow that a minute is longer than the test.
    const { nas, client: known } = await open('25.10', 0.02);
    const client = await nas.connect();
    for (let count = 0; count < 20; count++) expect(await client.call('core.ping')).toBe('pong');
    expect((await client.ask('core.ping')).error?.data).toMatchObject({
      ...{ error: 16, reason: '[EBUSY] Rate Limit Exceeded' },
    });
    for (let count = 0; count < 25; count++) await client.call('core.set_options', { legacy_jobs: false });
    for (let count = 0; count < 25; count++) await known.call('core.ping');
  });
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

async function certificateHash(nas: TrueNasFixture): Promise<Buffer> {
  const { hostname, port } = new URL(nas.simulator.line.url);
  const socket = connect({ host: hostname, port: Number(port), ca: nas.ca });
  await new Promise((resolve) => socket.once('secureConnect', resolve));
  const { raw } = new X509Certificate(socket.getPeerCertificate().raw);
  socket.destroy();
  return createHash('sha256').update(raw).digest();
}

describe('SCRAM (26)', () => {
  test('logs in without sending the key, with or without channel binding', async () => {
    const { nas } = await open('26');
    for (const binding of [undefined, await certificateHash(nas)]) {
      const client = await nas.connect();
      expect(await scram(client, 'root:1', binding)).toMatchObject({
        ...{ response_type: 'SCRAM_RESPONSE', scram_type: 'SERVER_FINAL_RESPONSE', isGenuine: true },
        user_info: { pw_name: 'root' },
      });
      expect(await client.call('system.version_short')).toBe('26.0.0-BETA.3');
    }
  });

  test('a wrong, foreign or expired key, a wrong certificate and an invalid message are AUTH_ERR', async () => {
    const { nas } = await open('26');
    const other = createHash('sha256').update('another certificate').digest();
    for (const [user, binding, key] of [
      ['root:1', undefined, 'b'.repeat(64)],
      ['root:4', undefined, secret],
      ['late:2', undefined, secret],
      ['root', undefined, secret],
      ['root:1', other, secret],
    ] as const) {
      const client = await nas.connect();
      expect(await scram(client, user, binding, key)).toMatchObject({ response_type: 'AUTH_ERR' });
      expect((await client.ask('system.version_short')).error?.data.error).toBe(207);
    }
    const bare = await RawClient.open(nas.simulator.line.url.replace('wss:', 'ws:'));
    expect(await scram(bare, 'root:1', other)).toMatchObject({ response_type: 'AUTH_ERR' });
    bare.close();
    expect(nas.simulator.dump().keys[0]).toMatchObject({ revokedReason: null });
  });

  test('a final message must follow a first one directly', async () => {
    const client = await (await open('26')).nas.connect();
    const final = { mechanism: 'SCRAM', scram_type: 'CLIENT_FINAL_MESSAGE', rfc_str: 'c=biws,r=x,p=eA==' };
    expect((await client.ask('auth.login_ex', final)).error?.data.reason).toBe('pam handle was not initialized');
    const nonce = randomBytes(32).toString('base64');
    const first = { ...final, scram_type: 'CLIENT_FIRST_MESSAGE', rfc_str: `n,,n=root:1,r=${nonce}` };
    expect((await client.call('auth.login_ex', first)).scram_type).toBe('SERVER_FIRST_RESPONSE');
    await client.call('auth.login_ex', plain('gone', 3));
    expect((await client.ask('auth.login_ex', final)).error?.data.error).toBe(22);
  });
});
