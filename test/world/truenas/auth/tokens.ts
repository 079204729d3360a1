import type { IncomingMessage } from 'node:http';
import type { ApiKey, AuthToken, NasState } from '../nas-state.ts';
import { type ClientIdentity, clientIdentityOf } from '../protocol/client-connection.ts';

/** Finds the key with this text. */
export const findKey = (nas: NasState, text: string): ApiKey | undefined => nas.keys.find(({ key }) => key === text);

/** Whether a key has expired or was revoked. */
export const isKeyExpired = (key: ApiKey): boolean => key.expiresAt !== null && key.expiresAt.getTime() <= Date.now();

/** A token that is still valid. Its lifetime counts from its last use; a single-use token has none afterwards. */
export function redeemToken(nas: NasState, text: string): AuthToken | undefined {
  const token = nas.tokens.get(text);
  if (!token) return undefined;
  const isLate = performance.now() - token.lastUsed > token.ttlSeconds * 1000;
  if (isLate || token.singleUse) nas.tokens.delete(text);
  token.lastUsed = performance.now();
  return isLate ? undefined : token;
}

/** The user of a request's `Authorization` header: a key, or a token without a purpose. No key is revoked here. */
export function identifyRequest(nas: NasState, { headers }: IncomingMessage): ClientIdentity | undefined {
  const [scheme, text = ''] = (headers.authorization ?? '').split(/\s+/, 2);
  const owner = scheme === 'Token' ? ownerOfToken(nas, text) : scheme === 'Bearer' ? ownerOfKey(nas, text) : undefined;
  const user = nas.users.find(({ name }) => name === owner);
  return user && clientIdentityOf(nas.version, user, scheme === 'Token' ? 'TOKEN' : 'API_KEY');
}

function ownerOfKey(nas: NasState, text: string): string | undefined {
  const key = findKey(nas, text);
  return key && !isKeyExpired(key) ? key.user : undefined;
}

function ownerOfToken(nas: NasState, text: string): string | undefined {
  const hasPurpose = Object.keys(nas.tokens.get(text)?.attributes ?? {}).length > 0;
  return hasPurpose ? undefined : redeemToken(nas, text)?.user;
}
