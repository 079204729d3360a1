import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { CallInterceptor } from '../../world/faults/call-interceptor.ts';
import { OidcTokenAuthenticator } from '../../world/kube/auth/oidc-tokens.ts';
import { type OidcSimulator, startOidc } from '../../world/oidc/index.ts';
import { decodeClaims, type OidcTestClient, openOidcTestClient } from '../../world/oidc/oidc-test-client.ts';
import { ScaledClock } from '../../world/scaled-clock.ts';

/** The simulated time, which a test advances. */
class MovableClock extends ScaledClock {
  aheadSeconds = 0;
  override now(): Date {
    return new Date(Date.now() + this.aheadSeconds * 1000);
  }
}

const folder = mkdtempSync(join(tmpdir(), 'oidc-'));
const switchboard = new CallInterceptor();
const clock = new MovableClock();
const alice = { subject: 'alice', groups: ['staff'], email: 'alice@example.org' };
let simulator: OidcSimulator;
let caller: OidcTestClient;
let logins: OidcTokenAuthenticator;
beforeAll(async () => {
  const runner = {
    start: () => {
      throw new Error('there are no machines');
    },
  };
  const seed = {
    clients: [{ id: 'kubernetes' }, { id: 'other' }, { id: 'secretive', secret: 'pst' }],
    people: [alice],
  };
  simulator = await startOidc({ host: '127.42.159.1', port: 0, folder, seed, clock, switchboard, runner, extra: {} });
  caller = openOidcTestClient(simulator);
  logins = new OidcTokenAuthenticator([
    {
      url: simulator.issuer,
      ca: simulator.ca,
      audiences: ['kube', 'kubernetes'],
      usernameClaim: 'sub',
      usernamePrefix: '',
      groupsClaim: 'groups',
      groupsPrefix: 'g:',
      userRules: ['!user.username.startsWith("system:")', 'user.groups.all(group, !group.startsWith("g:x"))'],
    },
  ]);
});
beforeEach(() => simulator.seat(alice));
afterAll(async () => {
  await logins.close();
  await caller.close();
  await simulator.close();
  rmSync(folder, { recursive: true });
});

const read = async (token: unknown) => {
  await logins.prepare(String(token));
  return logins.read(String(token));
};

describe('a simulated issuer', () => {
  it('issues a token to every caller, and reports errors in the request', async () => {
    const { body } = await caller.door('POST', '/world/tokens', { subject: 'alice', audience: 'kube', groups: ['a'] });
    expect(await read(body['token'])).toEqual({ name: 'alice', groups: ['g:a', 'system:authenticated'] });
    expect(await caller.door('POST', '/world/tokens', { audience: 'kube' })).toMatchObject({ status: 400 });
  });

  it('rotates: earlier signatures are valid until their key is dropped', async () => {
    const before = simulator.issue({ subject: 'alice', audience: 'kube' });
    await caller.door('POST', '/world/rotate');
    expect(await read(simulator.issue({ subject: 'bob', audience: 'kube' }))).toMatchObject({ name: 'bob' });
    expect(await read(before)).toMatchObject({ name: 'alice' });
    simulator.rotate({ forget: true });
    expect(await read(simulator.issue({ subject: 'bob', audience: 'kube' }))).toMatchObject({ name: 'bob' });
    expect(await read(before)).toBeUndefined();
  });

  it.each([
    ['for another audience', { subject: 'a', audience: 'others' }],
    ['over', { subject: 'a', audience: 'kube', lifetimeSeconds: -1 }],
    ['by a stranger', { subject: 'a', audience: 'kube', key: 'stranger' as const }],
    ['with a user name that the rules forbid', { subject: 'system:admin', audience: 'kube' }],
    ['with a group that the rules forbid', { subject: 'a', audience: 'kube', groups: ['x1'] }],
    ['of another issuer', { subject: 'a', audience: 'kube', claims: { iss: 'https://other.example.org' } }],
  ])('a token %s is refused', async (_, desired) => {
    expect(await read(simulator.issue(desired))).toBeUndefined();
  });

  it('fails as requested, and accepts clients again afterwards', async () => {
    simulator.rotate({ forget: true });
    const token = simulator.issue({ subject: 'alice', audience: 'kube' });
    switchboard.fail('oidc', /^GET \/keys$/, { kind: 'error', status: 503 });
    expect(await read(token)).toBeUndefined();
    await simulator.restart();
    // Open connections have ended, and a client notices that with its next request.
    await expect.poll(() => read(token)).toMatchObject({ name: 'alice' });
  });

  it('an invalid seed is refused with the field', async () => {
    const seed = { clients: [{ id: 'web', redirectUris: ['https://app.example.org/back'] }] };
    const options = { host: '127.42.159.1', port: 0, folder, clock, switchboard, seed, extra: {} };
    const runner = { start: () => expect.unreachable() };
    await expect(startOidc({ ...options, runner })).rejects.toThrow(/clients\[0\]\.redirectUris\[0\]/);
  });
});

describe('a login with a code', () => {
  it('ends with a token for the current user, with the claims of its scopes and no others', async () => {
    const { location } = await caller.authorize({ nonce: 'n', scope: 'openid groups' });
    expect(location?.origin + (location?.pathname ?? '')).toBe('http://localhost:8123/');
    expect(location?.searchParams.get('state')).toBe('here');
    const { status, body } = await caller.exchange(location?.searchParams.get('code') ?? '');
    expect(status).toBe(200);
    expect(body).not.toHaveProperty('refresh_token');
    const { iss, sub, aud, nonce, groups, email } = decodeClaims(body['id_token']);
    expect({ iss, sub, aud, nonce, groups, email }).toEqual({
      ...{ iss: simulator.issuer, sub: 'alice', aud: 'kubernetes', nonce: 'n', groups: ['staff'], email: undefined },
    });
    expect(await read(body['id_token'])).toMatchObject({ name: 'alice' });
  });

  it('is that of the new user after a change, and fails without a user', async () => {
    await caller.door('POST', '/world/people', { subject: 'bob', claims: { team: 'red' } });
    const { body } = await caller.exchange(await caller.code());
    expect(decodeClaims(body['id_token'])).toMatchObject({ sub: 'bob', team: 'red' });
    await caller.door('DELETE', '/world/people');
    const { location } = await caller.authorize();
    expect(location?.searchParams.get('error')).toBe('access_denied');
    expect(await caller.door('POST', '/world/people', { name: 'bob' })).toMatchObject({ status: 400 });
  });

  it.each([
    ['an unknown client', { client_id: 'stranger' }],
    ['no redirect URI', { redirect_uri: undefined }],
    ['a place on another machine', { redirect_uri: 'http://192.0.2.1:8123' }],
    ['a place under another scheme', { redirect_uri: 'https://localhost:8123' }],
    ['a path that is not registered', { redirect_uri: 'http://localhost:8123/other' }],
    ['a place with a fragment', { redirect_uri: `http://localhost:8123/#here` }],
  ])('with %s is refused directly, without a redirect', async (_, changes) => {
    expect(await caller.authorize(changes)).toMatchObject({ status: 400, location: undefined });
  });

  it.each([
    ['another response type', { response_type: 'token' }, 'unsupported_response_type'],
    ['no PKCE', { code_challenge: undefined, code_challenge_method: undefined }, 'invalid_request'],
    ['PKCE without a hash', { code_challenge_method: 'plain' }, 'invalid_request'],
    ['an unknown scope', { scope: 'openid everything' }, 'invalid_scope'],
    ['no openid scope', { scope: 'groups' }, 'invalid_scope'],
  ])('with %s redirects with the error', async (_, changes, error) => {
    const { status, location } = await caller.authorize(changes);
    expect([status, location?.searchParams.get('error'), location?.searchParams.get('code')]).toEqual([
      302,
      error,
      null,
    ]);
    expect(location?.searchParams.get('state')).toBe('here');
  });

  it.each([
    ['for another client', { client_id: 'other' }, 'invalid_grant'],
    ['from an unknown client', { client_id: 'stranger' }, 'invalid_client'],
    ['without the verifier', { code_verifier: undefined }, 'invalid_grant'],
    ['with another verifier', { code_verifier: 'a'.repeat(43) }, 'invalid_grant'],
    ['with another place', { redirect_uri: 'http://localhost:9999' }, 'invalid_grant'],
    ['without the code', { code: undefined }, 'invalid_request'],
    ['for an unknown grant type', { grant_type: 'client_credentials' }, 'unsupported_grant_type'],
  ])('%s a code is invalid', async (_, changes, error) => {
    const { status, body } = await caller.exchange(await caller.code(), changes);
    expect([status, body['error']]).toEqual([error === 'invalid_client' ? 401 : 400, error]);
    expect(body).not.toHaveProperty('id_token');
  });

  it('a code that is used twice is stolen: all its tokens are revoked', async () => {
    const code = await caller.code({ scope: 'openid offline_access' });
    const { body } = await caller.exchange(code);
    expect(body['refresh_token']).toEqual(expect.any(String));
    expect(await caller.exchange(code)).toMatchObject({ status: 400, body: { error: 'invalid_grant' } });
    expect(await refresh(body['refresh_token'])).toMatchObject({ status: 400, body: { error: 'invalid_grant' } });
  });

  it('a code expires after a minute', async () => {
    const [early, late] = [await caller.code(), await caller.code()];
    clock.aheadSeconds = 59;
    expect((await caller.exchange(early)).status).toBe(200);
    clock.aheadSeconds = 61;
    expect(await caller.exchange(late)).toMatchObject({ status: 400, body: { error: 'invalid_grant' } });
    clock.aheadSeconds = 0;
  });

  it('a client with a secret must send it, in the header or in the body', async () => {
    const code = () => caller.code({ client_id: 'secretive' });
    const asked = { client_id: 'secretive' };
    expect(await caller.exchange(await code(), asked)).toMatchObject({
      status: 401,
      body: { error: 'invalid_client' },
    });
    expect(await caller.exchange(await code(), { ...asked, client_secret: 'hm' })).toMatchObject({ status: 401 });
    expect(await caller.exchange(await code(), { ...asked, client_secret: 'pst' })).toMatchObject({ status: 200 });
    const authorization = `Basic ${Buffer.from('secretive:pst').toString('base64')}`;
    const form = { grant_type: 'refresh_token', refresh_token: 'unknown' };
    expect(await caller.post('/token', form, { authorization })).toMatchObject({ body: { error: 'invalid_grant' } });
  });
});

const refresh = (token: unknown, client = 'kubernetes') =>
  caller.post('/token', { grant_type: 'refresh_token', client_id: client, refresh_token: String(token) });

describe('a login without a browser', () => {
  it('is renewed by a refresh token, each valid once and for its client', async () => {
    const { body: first } = await caller.exchange(await caller.code({ scope: 'openid groups offline_access' }));
    const { body: second } = await refresh(first['refresh_token']);
    expect(decodeClaims(second['id_token'])).toMatchObject({ sub: 'alice', groups: ['staff'] });
    expect(await refresh(first['refresh_token'])).toMatchObject({ status: 400, body: { error: 'invalid_grant' } });
    expect(await refresh(second['refresh_token'])).toMatchObject({ status: 400 });
    const { body: third } = await caller.exchange(await caller.code({ scope: 'openid offline_access' }));
    expect(await refresh(third['refresh_token'], 'other')).toMatchObject({ status: 400 });
  });
});
