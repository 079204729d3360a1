import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { LoginGrant } from './grants.ts';
import { OAuthError, type OidcResponse, optionalParameter, requiredParameter } from './http-response.ts';
import { findClient, type Issuer, secondsFromNow } from './issuer.ts';
import type { OidcClient } from './seed.ts';

/** A request to the token endpoint. */
export interface TokenEndpointRequest {
  readonly form: URLSearchParams;
  /** The Authorization header. */
  readonly authorization: string | undefined;
}

/** `POST /token`: a code or a refresh token for an ID token (RFC 6749, 3.2). */
export function handleTokenRequest(issuer: Issuer, request: TokenEndpointRequest): OidcResponse {
  const client = authenticateClient(issuer, request);
  const login = redeemGrant(issuer, client, request.form);
  const { seed, grants } = issuer;
  const isLasting = login.scopes.includes('offline_access');
  const body = {
    access_token: randomBytes(24).toString('base64url'),
    token_type: 'Bearer',
    expires_in: login.person.tokenSeconds ?? seed.tokenSeconds,
    scope: login.scopes.join(' '),
    id_token: issuer.idToken(login),
    ...(isLasting ? { refresh_token: grants.giveRefresh({ login }, secondsFromNow(issuer, seed.refreshSeconds)) } : {}),
  };
  return { status: 200, body, headers: { 'cache-control': 'no-store', pragma: 'no-cache' } };
}

function redeemGrant(issuer: Issuer, client: OidcClient, form: URLSearchParams): LoginGrant {
  const grant = requiredParameter(form, 'grant_type');
  switch (grant) {
    case 'authorization_code':
      return redeemCode(issuer, client, form);
    case 'refresh_token':
      return redeemRefreshToken(issuer, client, form);
  }
  throw new OAuthError('unsupported_grant_type', `${grant} is not supported`);
}

function redeemCode(issuer: Issuer, client: OidcClient, form: URLSearchParams): LoginGrant {
  const code = issuer.grants.takeCode(requiredParameter(form, 'code'), issuer.now());
  if (!code || code.login.client !== client.id)
    throw new OAuthError('invalid_grant', 'the code is unknown, has ended, or was used before');
  if (optionalParameter(form, 'redirect_uri') !== code.redirectUri)
    throw new OAuthError('invalid_grant', 'redirect_uri is another than the code was sent to');
  if (!isProven(code.challenge, optionalParameter(form, 'code_verifier')))
    throw new OAuthError('invalid_grant', 'code_verifier does not fit the code');
  return code.login;
}

/** Whether the verifier matches the challenge; both must be present or absent (RFC 9700, 2.1.1). */
function isProven(challenge: string | undefined, verifier: string | undefined): boolean {
  if (challenge === undefined || verifier === undefined) return challenge === verifier;
  return createHash('sha256').update(verifier).digest('base64url') === challenge;
}

/** Each is valid once, and is replaced by the next one. */
function redeemRefreshToken(issuer: Issuer, client: OidcClient, form: URLSearchParams): LoginGrant {
  const found = issuer.grants.takeRefresh(requiredParameter(form, 'refresh_token'), issuer.now());
  if (!found || found.login.client !== client.id)
    throw new OAuthError('invalid_grant', 'the refresh token is unknown, has ended, or was used before');
  return found.login;
}

/** The client: by id alone without a secret, else with it, in the header or in the body (RFC 6749, 2.3.1). */
function authenticateClient(issuer: Issuer, { form, authorization }: TokenEndpointRequest): OidcClient {
  const told = parseBasicAuth(authorization) ?? {
    id: optionalParameter(form, 'client_id'),
    secret: optionalParameter(form, 'client_secret'),
  };
  const client = findClient(issuer, told.id);
  if (!client || !equalsConstantTime(client.secret ?? '', told.secret ?? ''))
    throw new OAuthError('invalid_client', 'there is no such client, or its secret is another', 401);
  return client;
}

function parseBasicAuth(authorization: string | undefined): { id: string; secret: string } | undefined {
  const encoded = /^Basic (\S+)$/i.exec(authorization ?? '')?.[1];
  if (encoded === undefined) return undefined;
  const [id = '', ...rest] = Buffer.from(encoded, 'base64').toString('utf8').split(':');
  return { id: decodeURIComponent(id), secret: decodeURIComponent(rest.join(':')) };
}

const equalsConstantTime = (a: string, b: string): boolean => {
  const [left, right] = [a, b].map((text) => createHash('sha256').update(text).digest());
  return left !== undefined && right !== undefined && timingSafeEqual(left, right);
};
