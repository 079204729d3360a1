import { randomBytes, randomInt } from 'node:crypto';
import { CallError, errnos, PythonException } from '../middleware/errors.ts';
import type { CallContext } from '../middleware/method.ts';
import type { Entry } from '../middleware/query.ts';
import { type NasState, type NasUser, sleepInWorldTime } from '../nas-state.ts';
import { type ClientConnection, type ClientIdentity, clientIdentityOf } from '../protocol/client-connection.ts';
import { describeUser } from './account-methods.ts';
import type { LoginRequest, ScramLoginRequest } from './login-model.ts';
import { createScramChallenge, parseClientFirst, verifyScramProof } from './scram.ts';
import { findKey, isKeyExpired, userOfToken } from './tokens.ts';

/** The one-time password of every user with a second factor. */
export const validOneTimePassword = '123456';

type LoginVerdict = 'SUCCESS' | 'AUTH_ERR' | 'EXPIRED' | 'OTP_REQUIRED' | 'DENIED';

interface LoginJudgement {
  readonly verdict: LoginVerdict;
  readonly user?: NasUser;
  readonly kind?: ClientIdentity['kind'];
}

/** `auth.login_ex`. Every other answer than SUCCESS is still a successful JSON-RPC answer. */
export async function handleLoginEx(data: LoginRequest, { nas, client }: CallContext): Promise<Entry> {
  if (nas.activeController.length > 0) return { response_type: 'REDIRECT', urls: [...nas.activeController] };
  if (data.mechanism === 'SCRAM') return await loginByScram(nas, client, data);
  client.challenge = undefined;
  const { verdict, user, kind } = requireAnyRole(nas, await checkCredentials(nas, client, data));
  if (verdict === 'OTP_REQUIRED') return { response_type: verdict, username: user?.name };
  if (verdict !== 'SUCCESS' || !user || !kind) return { response_type: verdict };
  logIn(nas, client, user, kind);
  const { user_info: wantsUser, reconnect_token: wantsToken } = data.login_options;
  return {
    response_type: 'SUCCESS',
    user_info: wantsUser ? describeUser(client) : null,
    authenticator: 'LEVEL_1',
    ...(nas.version.hasScram ? { reconnect_token: wantsToken ? reconnectToken(nas, user) : null } : {}),
  };
}

/** Whether the answer of `loginEx` is a login. */
export const isLoginSuccess = (answer: Entry): boolean => answer['response_type'] === 'SUCCESS';

function logIn(nas: NasState, client: ClientConnection, user: NasUser, kind: ClientIdentity['kind']): void {
  client.identity = clientIdentityOf(nas.version, user, kind);
  client.expired = false;
}

/** A user without any role is refused: 26 says so, earlier releases answer as for a wrong credential. */
function requireAnyRole({ version }: NasState, judgement: LoginJudgement): LoginJudgement {
  const { verdict, user } = judgement;
  if (verdict !== 'SUCCESS' || !user || user.roles.length > 0) return judgement;
  return { verdict: version.hasScram ? 'DENIED' : 'AUTH_ERR' };
}

function reconnectToken(nas: NasState, user: NasUser): string {
  const token = randomBytes(32).toString('base64url');
  const life = { ttlSeconds: 600, lastUsed: performance.now() };
  nas.tokens.set(token, { token, user: user.name, attributes: {}, singleUse: true, ...life });
  return token;
}

async function checkCredentials(
  nas: NasState,
  client: ClientConnection,
  data: Exclude<LoginRequest, ScramLoginRequest>,
): Promise<LoginJudgement> {
  const owing = client.awaitsOneTimePassword;
  client.awaitsOneTimePassword = undefined;
  switch (data.mechanism) {
    case 'API_KEY_PLAIN':
      return checkApiKey(nas, client, data.username, data.api_key);
    case 'PASSWORD_PLAIN':
      return checkPassword(nas, client, data.username, data.password);
    case 'TOKEN_PLAIN': {
      const user = userOfToken(nas, data.token);
      return user ? { verdict: 'SUCCESS', user, kind: 'TOKEN' } : delayRefusal(nas, 'AUTH_ERR');
    }
    case 'OTP_TOKEN':
      if (!owing) throw new CallError('OTP_TOKEN: no authentication in progress', errnos.EINVAL);
      if (data.otp_token === validOneTimePassword) return { verdict: 'SUCCESS', user: owing, kind: 'LOGIN_TWOFACTOR' };
      client.awaitsOneTimePassword = owing;
      return delayRefusal(nas, 'OTP_REQUIRED', owing);
  }
}

/** A refused login takes a second or two. */
async function delayRefusal(nas: NasState, verdict: LoginVerdict, user?: NasUser): Promise<LoginJudgement> {
  await sleepInWorldTime(nas, 1 + randomInt(1000) / 1000);
  return { verdict, ...(user ? { user } : {}) };
}

async function checkApiKey(
  nas: NasState,
  client: ClientConnection,
  username: string,
  text: string,
): Promise<LoginJudgement> {
  const key = findKey(nas, text);
  const user = nas.users.find(({ name }) => name === username);
  if (!key || !user || key.user !== username) return delayRefusal(nas, 'AUTH_ERR');
  if (isKeyExpired(key))
    return delayRefusal(nas, key.revokedReason !== null && nas.version.hasScram ? 'AUTH_ERR' : 'EXPIRED');
  if (!client.isSecure) {
    // A valid key over an unencrypted connection is revoked permanently.
    key.expiresAt = new Date(0);
    key.revokedReason = 'Attempt to use over an insecure transport';
    return { verdict: 'EXPIRED' };
  }
  return { verdict: 'SUCCESS', user, kind: 'API_KEY' };
}

async function checkPassword(
  nas: NasState,
  client: ClientConnection,
  username: string,
  password: string,
): Promise<LoginJudgement> {
  const user = nas.users.find(({ name }) => name === username);
  if (!user || user.password === null || user.password !== password) return delayRefusal(nas, 'AUTH_ERR');
  if (!user.twoFactor) return { verdict: 'SUCCESS', user, kind: 'LOGIN_PASSWORD' };
  client.awaitsOneTimePassword = user;
  return { verdict: 'OTP_REQUIRED', user };
}

/** SCRAM, for keys only. Every failure, also an expired key, gives the same answer: AUTH_ERR. It revokes no key. */
async function loginByScram(
  nas: NasState,
  client: ClientConnection,
  { scram_type: type, rfc_str: text }: ScramLoginRequest,
): Promise<Entry> {
  const refused = async () => ({ response_type: (await delayRefusal(nas, 'AUTH_ERR')).verdict });
  const begun = client.challenge;
  client.challenge = undefined;
  if (type === 'CLIENT_FIRST_MESSAGE') {
    const first = parseClientFirst(text);
    const key = nas.keys.find(({ id, user }) => id === first?.keyId && user === first.username);
    const isBoundInTheClear = first?.header.startsWith('p=') && !client.isSecure;
    if (!first || !key || isKeyExpired(key) || isBoundInTheClear) return refused();
    client.challenge = await createScramChallenge(key, first);
    return scramAnswer('SERVER_FIRST_RESPONSE', client.challenge.serverFirst, null);
  }
  if (!begun) throw new PythonException('RuntimeError', 'pam handle was not initialized');
  const final = verifyScramProof(begun, text, nas.endPoint);
  const user = nas.users.find(({ name }) => name === begun.key.user);
  if (final === undefined || !user) return refused();
  if (user.roles.length === 0) throw new PythonException('TypeError', "'NoneType' object is not subscriptable");
  logIn(nas, client, user, 'API_KEY');
  return scramAnswer('SERVER_FINAL_RESPONSE', final, describeUser(client));
}

const scramAnswer = (type: string, text: string, user: Entry | null): Entry => ({
  response_type: 'SCRAM_RESPONSE',
  scram_type: type,
  rfc_str: text,
  user_info: user,
});
