import { type Answer, need, OAuthError, one } from './answer.ts';
import { after, findClient, type Issuer, scopes } from './issuer.ts';
import { type Client, isLoopback } from './seed.ts';

/**
 * `GET /authorize`: whoever sits before the browser agrees to everything at once and is sent back with a code. A mistake goes
 * the same way, unless it is in the client or in the place to go back to: then it stays here (RFC 6749, 4.1.2.1).
 */
export function authorize(issuer: Issuer, query: URLSearchParams): Answer {
  const client = findClient(issuer, need(query, 'client_id'));
  if (!client) throw new OAuthError('invalid_client', 'there is no such client');
  const redirectUri = need(query, 'redirect_uri');
  if (!isRegistered(client, redirectUri))
    throw new OAuthError('invalid_request', `the client may not be sent to ${redirectUri}`);
  const state = query.get('state');
  const back = (said: Readonly<Record<string, string>>): Answer => {
    const url = new URL(redirectUri);
    for (const [name, value] of Object.entries({ ...said, ...(state ? { state } : {}) }))
      url.searchParams.append(name, value);
    return { status: 302, headers: { location: url.href, 'cache-control': 'no-store' } };
  };
  try {
    return back({ code: giveCode(issuer, client, redirectUri, query) });
  } catch (error) {
    if (error instanceof OAuthError) return back({ error: error.code, error_description: error.message });
    throw error;
  }
}

function giveCode(issuer: Issuer, client: Client, redirectUri: string, query: URLSearchParams): string {
  if (need(query, 'response_type') !== 'code')
    throw new OAuthError('unsupported_response_type', 'only code is supported');
  one(query, 'state');
  const asked = readScopes(one(query, 'scope'));
  const challenge = readChallenge(client, query);
  const person = issuer.people.present;
  if (!person) throw new OAuthError('access_denied', 'nobody is there who would log in');
  const login = { person, client: client.id, scopes: asked, nonce: one(query, 'nonce'), at: issuer.now() };
  return issuer.grants.giveCode({ login, redirectUri, challenge }, after(issuer, issuer.seed.codeSeconds));
}

/** Reads what is asked for. Throws an {@link OAuthError}. */
export function readScopes(text = ''): string[] {
  const asked = text.split(' ').filter(Boolean);
  const strange = asked.find((scope) => !scopes.includes(scope));
  if (strange !== undefined) throw new OAuthError('invalid_scope', `there is no scope ${strange}`);
  if (!asked.includes('openid')) throw new OAuthError('invalid_scope', 'without openid there is no ID token');
  return asked;
}

/** Who keeps no secret has to prove by PKCE that it was him who asked (RFC 7636, 4.4.1; RFC 9700, 2.1.1). */
function readChallenge(client: Client, query: URLSearchParams): string | undefined {
  const challenge = one(query, 'code_challenge');
  const method = one(query, 'code_challenge_method');
  if (challenge === undefined) {
    if (client.secret === undefined) throw new OAuthError('invalid_request', 'code_challenge is missing');
    return undefined;
  }
  if (method !== 'S256') throw new OAuthError('invalid_request', 'code_challenge_method has to be S256');
  if (!/^[\w-]{43}$/.test(challenge)) throw new OAuthError('invalid_request', 'code_challenge is not a SHA-256');
  return challenge;
}

/** As it is registered but for the port, which such a program cannot know before (RFC 8252, 7.3). */
function isRegistered({ redirectUris }: Client, text: string): boolean {
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
