import { randomInt } from 'node:crypto';
import { PythonException } from '../middleware/errors.ts';
import type { CallContext } from '../middleware/method.ts';
import type { Entry } from '../middleware/query.ts';
import { type NasState, type NasUser, sleepInWorldTime } from '../nas-state.ts';
import { type ClientConnection, clientIdentityOf } from '../protocol/client-connection.ts';
import { createScramChallenge, parseClientFirst, verifyScramProof } from './scram.ts';
import { findKey, isKeyExpired } from './tokens.ts';

interface KeyLoginRequest {
  readonly mechanism: 'API_KEY_PLAIN';
  readonly username: string;
  readonly api_key: string;
  readonly login_options: { readonly user_info: boolean };
}

/** One of the two messages of a client. It has no options. */
interface ScramLoginRequest {
  readonly mechanism: 'SCRAM';
  readonly scram_type: 'CLIENT_FIRST_MESSAGE' | 'CLIENT_FINAL_MESSAGE';
  readonly rfc_str: string;
}

/** The argument of `auth.login_ex`. */
export type LoginRequest = KeyLoginRequest | ScramLoginRequest;

/** `auth.login_ex`. Every other answer than SUCCESS is still a successful JSON-RPC answer. */
export async function handleLoginEx(data: LoginRequest, { nas, client }: CallContext): Promise<Entry> {
  if (data.mechanism === 'SCRAM') return await loginByScram(nas, client, data);
  client.challenge = undefined;
  const user = await checkApiKey(nas, client, data);
  if (typeof user === 'string') return { response_type: user };
  logIn(nas, client, user);
  return {
    response_type: 'SUCCESS',
    user_info: data.login_options.user_info ? describeUser(client) : null,
    authenticator: 'LEVEL_1',
    ...(nas.version.hasScram ? { reconnect_token: null } : {}),
  };
}

function logIn(nas: NasState, client: ClientConnection, user: NasUser): void {
  client.identity = clientIdentityOf(nas.version, user, 'API_KEY');
}

/** A refused login takes a second or two. */
async function refuseLate<T>(nas: NasState, verdict: T): Promise<T> {
  await sleepInWorldTime(nas, 1 + randomInt(1000) / 1000);
  return verdict;
}

/** The user of a key, or the answer that refuses it. */
async function checkApiKey(
  nas: NasState,
  client: ClientConnection,
  { username, api_key: text }: KeyLoginRequest,
): Promise<NasUser | 'AUTH_ERR' | 'EXPIRED' | 'DENIED'> {
  const key = findKey(nas, text);
  const user = nas.users.find(({ name }) => name === username);
  if (!key || !user || key.user !== username) return refuseLate(nas, 'AUTH_ERR');
  if (isKeyExpired(key))
    return refuseLate(nas, key.revokedReason !== null && nas.version.hasScram ? 'AUTH_ERR' : 'EXPIRED');
  if (!client.isSecure) {
    // A valid key over an unencrypted connection is revoked permanently.
    key.expiresAt = new Date(0);
    key.revokedReason = 'Attempt to use over an insecure transport';
    return 'EXPIRED';
  }
  // A user without any role: 26 says so, earlier releases answer as for a wrong key.
  if (user.roles.length === 0) return nas.version.hasScram ? 'DENIED' : 'AUTH_ERR';
  return user;
}

/** SCRAM, for keys only. Every failure, also an expired key, gives the same answer: AUTH_ERR. It revokes no key. */
async function loginByScram(
  nas: NasState,
  client: ClientConnection,
  { scram_type: type, rfc_str: text }: ScramLoginRequest,
): Promise<Entry> {
  const refused = () => refuseLate(nas, { response_type: 'AUTH_ERR' });
  const started = client.challenge;
  client.challenge = undefined;
  if (type === 'CLIENT_FIRST_MESSAGE') {
    const first = parseClientFirst(text);
    const key = nas.keys.find(({ id, user }) => id === first?.keyId && user === first.username);
    const isBoundInTheClear = first?.header.startsWith('p=') && !client.isSecure;
    if (!first || !key || isKeyExpired(key) || isBoundInTheClear) return refused();
    client.challenge = await createScramChallenge(key, first);
    return scramAnswer('SERVER_FIRST_RESPONSE', client.challenge.serverFirst, null);
  }
  if (!started) throw new PythonException('RuntimeError', 'pam handle was not initialized');
  const final = verifyScramProof(started, text, nas.endPoint);
  const user = nas.users.find(({ name }) => name === started.key.user);
  if (final === undefined || !user) return refused();
  if (user.roles.length === 0) throw new PythonException('TypeError', "'NoneType' object is not subscriptable");
  logIn(nas, client, user);
  return scramAnswer('SERVER_FINAL_RESPONSE', final, describeUser(client));
}

const scramAnswer = (type: string, text: string, user: Entry | null): Entry => ({
  response_type: 'SCRAM_RESPONSE',
  scram_type: type,
  rfc_str: text,
  user_info: user,
});

/** The `user_info` of a login. */
function describeUser({ identity }: ClientConnection): Entry {
  const roles = identity?.roles ?? new Set<string>();
  return {
    pw_name: identity?.user.name ?? '',
    source: 'LOCAL',
    local: true,
    privilege: {
      allowlist: roles.has('FULL_ADMIN') ? [{ method: '*', resource: '*' }] : [],
      roles: { $set: [...roles].sort() },
      webui_access: true,
    },
    account_attributes: ['LOCAL', 'API_KEY'],
  };
}
