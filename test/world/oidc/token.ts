import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { type Answer, need, OAuthError, one } from './answer.ts';
import { readScopes } from './authorize.ts';
import { takeDevice } from './device.ts';
import type { Login } from './grants.ts';
import { after, deviceGrant, findClient, type Issuer } from './issuer.ts';
import type { Client } from './seed.ts';

/** A request at the token endpoint. */
export interface TokenRequest {
  readonly form: URLSearchParams;
  /** The header of that name. */
  readonly authorization: string | undefined;
}

/** `POST /token`: a code, a refresh token, a device's code or a password for an ID token (RFC 6749, 3.2). */
export function exchange(issuer: Issuer, request: TokenRequest): Answer {
  const client = authenticate(issuer, request);
  const login = take(issuer, client, request.form);
  const { seed, grants } = issuer;
  const isLasting = login.scopes.includes('offline_access');
  const body = {
    access_token: randomBytes(24).toString('base64url'),
    token_type: 'Bearer',
    expires_in: login.person.tokenSeconds ?? seed.tokenSeconds,
    scope: login.scopes.join(' '),
    id_token: issuer.idToken(login),
    ...(isLasting ? { refresh_token: grants.giveRefresh({ login }, after(issuer, seed.refreshSeconds)) } : {}),
  };
  return { status: 200, body, headers: { 'cache-control': 'no-store', pragma: 'no-cache' } };
}

function take(issuer: Issuer, client: Client, form: URLSearchParams): Login {
  const grant = need(form, 'grant_type');
  switch (grant) {
    case 'authorization_code':
      return takeCode(issuer, client, form);
    case 'refresh_token':
      return takeRefresh(issuer, client, form);
    case deviceGrant:
      return takeDevice(issuer, client, form);
    case 'password':
      if (issuer.seed.passwords) return takePassword(issuer, client, form);
  }
  throw new OAuthError('unsupported_grant_type', `${grant} is not supported`);
}

function takeCode(issuer: Issuer, client: Client, form: URLSearchParams): Login {
  const code = issuer.grants.takeCode(need(form, 'code'), issuer.now());
  if (!code || code.login.client !== client.id)
    throw new OAuthError('invalid_grant', 'the code is unknown, has ended, or was used before');
  if (one(form, 'redirect_uri') !== code.redirectUri)
    throw new OAuthError('invalid_grant', 'redirect_uri is another than the code was sent to');
  if (!isProven(code.challenge, one(form, 'code_verifier')))
    throw new OAuthError('invalid_grant', 'code_verifier does not fit the code');
  return code.login;
}

/** Whether the verifier is what the challenge was made from; neither is there without the other (RFC 9700, 2.1.1). */
function isProven(challenge: string | undefined, verifier: string | undefined): boolean {
  if (challenge === undefined || verifier === undefined) return challenge === verifier;
  return createHash('sha256').update(verifier).digest('base64url') === challenge;
}

/** Each is good for once, and brings the next one. */
function takeRefresh(issuer: Issuer, client: Client, form: URLSearchParams): Login {
  const found = issuer.grants.takeRefresh(need(form, 'refresh_token'), issuer.now());
  if (!found || found.login.client !== client.id)
    throw new OAuthError('invalid_grant', 'the refresh token is unknown, has ended, or was used before');
  return found.login;
}

function takePassword(issuer: Issuer, client: Client, form: URLSearchParams): Login {
  const person = issuer.people.findByPassword(need(form, 'username'), need(form, 'password'));
  if (!person) throw new OAuthError('invalid_grant', 'nobody has this name and this password');
  return { person, client: client.id, scopes: readScopes(one(form, 'scope')), at: issuer.now() };
}

/** Who asks: by name alone where there is no secret, else with it, in the header or in the body (RFC 6749, 2.3.1). */
export function authenticate(issuer: Issuer, { form, authorization }: TokenRequest): Client {
  const told = readBasic(authorization) ?? { id: one(form, 'client_id'), secret: one(form, 'client_secret') };
  const client = findClient(issuer, told.id);
  if (!client || !isSame(client.secret ?? '', told.secret ?? ''))
    throw new OAuthError('invalid_client', 'there is no such client, or its secret is another', 401);
  return client;
}

function readBasic(authorization: string | undefined): { id: string; secret: string } | undefined {
  const encoded = /^Basic (\S+)$/i.exec(authorization ?? '')?.[1];
  if (encoded === undefined) return undefined;
  const [id = '', ...rest] = Buffer.from(encoded, 'base64').toString('utf8').split(':');
  return { id: decodeURIComponent(id), secret: decodeURIComponent(rest.join(':')) };
}

const isSame = (a: string, b: string): boolean => {
  const [left, right] = [a, b].map((text) => createHash('sha256').update(text).digest());
  return left !== undefined && right !== undefined && timingSafeEqual(left, right);
};
