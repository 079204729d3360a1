import type { IncomingMessage } from 'node:http';
import type { ApiKey, AuthToken, NasState, NasUser } from '../nas-state.ts';
import { type ClientIdentity, clientIdentityOf } from '../protocol/client-connection.ts';

/** Finds the key with this text. */
export const findKey = (nas: NasState, text: string): ApiKey | undefined => nas.keys.find(({ key }) => key === text);

/** Whether a key has expired or was revoked. */
export const isKeyExpired = (key: ApiKey): boolean => key.expiresAt !== null && key.expiresAt.getTime() <= Date.now();

/** The user of a token that may log in, i.e. a token without a purpose. */
export function userOfToken(nas: NasState, text: string): NasUser | undefined {
  const token = nas.tokens.get(text);
  if (!token || Object.keys(token.attributes).length > 0 || !redeemToken(nas, text)) return undefined;
  return nas.users.find(({ name }) => name === token.user);
}

/** A token that is still valid. Its lifetime counts from its last use; a single-use token has none afterwards. */
export function redeemToken(nas: NasState, text: string): AuthToken | undefined {
  const token = nas.tokens.get(text);
  if (!token) return undefined;
  const isLate = performance.now() - token.lastUsed > token.ttlSeconds * 1000;
  if (isLate || token.singleUse) nas.tokens.delete(text);
  token.lastUsed = performance.now();
  return isLate ? undefined : token;
}

/** The user of a request's `Authorization` header or `auth_token`. An unencrypted key is not revoked here. */
export function identifyRequest(nas: NasState, { url, headers }: IncomingMessage): ClientIdentity | undefined {
  const token = new URL(url ?? '/', 'http://nas').searchParams.get('auth_token');
  const [scheme, rest = ''] = (headers.authorization ?? '').split(/\s+/, 2);
  const known = (user: NasUser | undefined, kind: ClientIdentity['kind']) =>
    user ? clientIdentityOf(nas.version, user, kind) : undefined;
  if (token !== null) return known(userOfToken(nas, token), 'TOKEN');
  if (scheme === 'Token') return known(userOfToken(nas, rest), 'TOKEN');
  if (scheme === 'Bearer') {
    const key = findKey(nas, rest);
    const owner = key && !isKeyExpired(key) ? nas.users.find(({ name }) => name === key.user) : undefined;
    return known(owner, 'API_KEY');
  }
  if (scheme !== 'Basic') return undefined;
  const [name, ...password] = Buffer.from(rest, 'base64').toString().split(':');
  const user = nas.users.find((one) => one.name === name && one.password === password.join(':'));
  return user && !user.twoFactor ? known(user, 'LOGIN_PASSWORD') : undefined;
}
