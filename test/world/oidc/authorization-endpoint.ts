import { OAuthError, type OidcResponse, optionalParameter, requiredParameter } from './http-response.ts';
import { findClient, type Issuer, scopes, secondsFromNow } from './issuer.ts';
import { isLoopback, type OidcClient } from './seed.ts';

/**
 * `GET /authorize`: the current user consents to every request and is redirected with a code. An error is also
 * redirected, unless it concerns the client or the redirect URI: then it is answered here (RFC 6749, 4.1.2.1).
 */
export function handleAuthorizationRequest(issuer: Issuer, query: URLSearchParams): OidcResponse {
  const client = findClient(issuer, requiredParameter(query, 'client_id'));
  if (!client) throw new OAuthError('invalid_client', 'there is no such client');
  const redirectUri = requiredParameter(query, 'redirect_uri');
  if (!isRegisteredRedirect(client, redirectUri))
    throw new OAuthError('invalid_request', `the client may not be sent to ${redirectUri}`);
  const state = query.get('state');
  const back = (output: Readonly<Record<string, string>>): OidcResponse => {
    const url = new URL(redirectUri);
    for (const [name, value] of Object.entries({ ...output, ...(state ? { state } : {}) }))
      url.searchParams.append(name, value);
    return { status: 302, headers: { location: url.href, 'cache-control': 'no-store' } };
  };
  try {
    return back({ code: issueCode(issuer, client, redirectUri, query) });
  } catch (error) {
    if (error instanceof OAuthError) return back({ error: error.code, error_description: error.message });
    throw error;
  }
}

function issueCode(issuer: Issuer, client: OidcClient, redirectUri: string, query: URLSearchParams): string {
  if (requiredParameter(query, 'response_type') !== 'code')
    throw new OAuthError('unsupported_response_type', 'only code is supported');
  optionalParameter(query, 'state');
  const asked = parseScopes(optionalParameter(query, 'scope'));
  const challenge = parseChallenge(client, query);
  const person = issuer.people.present;
  if (!person) throw new OAuthError('access_denied', 'nobody is there who would log in');
  const login = {
    person,
    client: client.id,
    scopes: asked,
    nonce: optionalParameter(query, 'nonce'),
    at: issuer.now(),
  };
  return issuer.grants.giveCode({ login, redirectUri, challenge }, secondsFromNow(issuer, issuer.seed.codeSeconds));
}

/** Parses the request. Throws an {@link OAuthError}. */
function parseScopes(text = ''): string[] {
  const asked = text.split(' ').filter(Boolean);
  const unknown = asked.find((scope) => !scopes.includes(scope));
  if (unknown !== undefined) throw new OAuthError('invalid_scope', `there is no scope ${unknown}`);
  if (!asked.includes('openid')) throw new OAuthError('invalid_scope', 'without openid there is no ID token');
  return asked;
}

/** A public client must use PKCE (RFC 7636, 4.4.1; RFC 9700, 2.1.1). */
function parseChallenge(client: OidcClient, query: URLSearchParams): string | undefined {
  const challenge = optionalParameter(query, 'code_challenge');
  const method = optionalParameter(query, 'code_challenge_method');
  if (challenge === undefined) {
    if (client.secret === undefined) throw new OAuthError('invalid_request', 'code_challenge is missing');
    return undefined;
  }
  if (method !== 'S256') throw new OAuthError('invalid_request', 'code_challenge_method has to be S256');
  if (!/^[\w-]{43}$/.test(challenge)) throw new OAuthError('invalid_request', 'code_challenge is not a SHA-256');
  return challenge;
}

/** As registered except for the port, which a native app cannot know in advance (RFC 8252, 7.3). */
function isRegisteredRedirect({ redirectUris }: OidcClient, text: string): boolean {
  if (!URL.canParse(text)) return false;
  const url = new URL(text);
  if (!isLoopback(url) || url.hash || url.username || url.password) return false;
  url.port = '';
  return redirectUris.some((registered) => {
    const allowed = new URL(registered);
    allowed.port = '';
    return allowed.href === url.href;
  });
}
