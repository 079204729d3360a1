import { randomBytes, randomInt } from 'node:crypto';
import { describeUser } from './accounts.ts';
import { type Client, type Identity, identify } from './client.ts';
import { CallError, errnos, RawException } from './errors.ts';
import type { Login, ScramLogin } from './login-model.ts';
import type { Context } from './method.ts';
import { type Nas, pause, type User } from './nas.ts';
import type { Entry } from './query.ts';
import { challenge, prove, readClientFirst } from './scram.ts';
import { findKey, isOver, useToken } from './tokens.ts';

/** The one-time password that every user with a second factor has here. */
export const oneTimePassword = '123456';

type Verdict = 'SUCCESS' | 'AUTH_ERR' | 'EXPIRED' | 'OTP_REQUIRED' | 'DENIED';

interface Judgement {
  readonly verdict: Verdict;
  readonly user?: User;
  readonly kind?: Identity['kind'];
}

/** `auth.login_ex`. Everything but SUCCESS is still a successful answer. */
export async function loginEx(data: Login, { nas, client }: Context): Promise<Entry> {
  if (nas.activeController.length > 0) return { response_type: 'REDIRECT', urls: [...nas.activeController] };
  if (data.mechanism === 'SCRAM') return await loginByScram(nas, client, data);
  client.challenge = undefined;
  const { verdict, user, kind } = admit(nas, await judge(nas, client, data));
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

/** Whether an answer of `loginEx` is a login. */
export const succeeded = (answer: Entry): boolean => answer['response_type'] === 'SUCCESS';

function logIn(nas: Nas, client: Client, user: User, kind: Identity['kind']): void {
  client.identity = identify(nas.version, user, kind);
  client.expired = false;
}

/** Who has no role at all has no business here: 26 says so, before it is as if the credential were wrong. */
function admit({ version }: Nas, judgement: Judgement): Judgement {
  const { verdict, user } = judgement;
  if (verdict !== 'SUCCESS' || !user || user.roles.length > 0) return judgement;
  return { verdict: version.hasScram ? 'DENIED' : 'AUTH_ERR' };
}

function reconnectToken(nas: Nas, user: User): string {
  const token = randomBytes(32).toString('base64url');
  const life = { ttlSeconds: 600, lastUsed: performance.now() };
  nas.tokens.set(token, { token, user: user.name, attributes: {}, singleUse: true, ...life });
  return token;
}

async function judge(nas: Nas, client: Client, data: Exclude<Login, ScramLogin>): Promise<Judgement> {
  const owing = client.awaitsOneTimePassword;
  client.awaitsOneTimePassword = undefined;
  switch (data.mechanism) {
    case 'API_KEY_PLAIN':
      return judgeKey(nas, client, data.username, data.api_key);
    case 'PASSWORD_PLAIN':
      return judgePassword(nas, client, data.username, data.password);
    case 'TOKEN_PLAIN': {
      const user = useToken(nas, data.token);
      return user ? { verdict: 'SUCCESS', user, kind: 'TOKEN' } : slowly(nas, 'AUTH_ERR');
    }
    case 'OTP_TOKEN':
      if (!owing) throw new CallError('OTP_TOKEN: no authentication in progress', errnos.EINVAL);
      if (data.otp_token === oneTimePassword) return { verdict: 'SUCCESS', user: owing, kind: 'LOGIN_TWOFACTOR' };
      client.awaitsOneTimePassword = owing;
      return slowly(nas, 'OTP_REQUIRED', owing);
  }
}

/** A refused login takes a second or two. */
async function slowly(nas: Nas, verdict: Verdict, user?: User): Promise<Judgement> {
  await pause(nas, 1 + randomInt(1000) / 1000);
  return { verdict, ...(user ? { user } : {}) };
}

async function judgeKey(nas: Nas, client: Client, username: string, text: string): Promise<Judgement> {
  const key = findKey(nas, text);
  const user = nas.users.find(({ name }) => name === username);
  if (!key || !user || key.user !== username) return slowly(nas, 'AUTH_ERR');
  if (isOver(key)) return slowly(nas, key.revokedReason !== null && nas.version.hasScram ? 'AUTH_ERR' : 'EXPIRED');
  if (!client.isSecure) {
    // The right key over a wire that anybody may read: it is revoked for good.
    key.expiresAt = new Date(0);
    key.revokedReason = 'Attempt to use over an insecure transport';
    return { verdict: 'EXPIRED' };
  }
  return { verdict: 'SUCCESS', user, kind: 'API_KEY' };
}

async function judgePassword(nas: Nas, client: Client, username: string, password: string): Promise<Judgement> {
  const user = nas.users.find(({ name }) => name === username);
  if (!user || user.password === null || user.password !== password) return slowly(nas, 'AUTH_ERR');
  if (!user.twoFactor) return { verdict: 'SUCCESS', user, kind: 'LOGIN_PASSWORD' };
  client.awaitsOneTimePassword = user;
  return { verdict: 'OTP_REQUIRED', user };
}

/** SCRAM, for keys only. Whatever is wrong, an expired key too, is one answer: AUTH_ERR. No key is revoked by it. */
async function loginByScram(nas: Nas, client: Client, { scram_type: type, rfc_str: text }: ScramLogin): Promise<Entry> {
  const refused = async () => ({ response_type: (await slowly(nas, 'AUTH_ERR')).verdict });
  const begun = client.challenge;
  client.challenge = undefined;
  if (type === 'CLIENT_FIRST_MESSAGE') {
    const first = readClientFirst(text);
    const key = nas.keys.find(({ id, user }) => id === first?.keyId && user === first.username);
    const isBoundInTheClear = first?.header.startsWith('p=') && !client.isSecure;
    if (!first || !key || isOver(key) || isBoundInTheClear) return refused();
    client.challenge = await challenge(key, first);
    return scramAnswer('SERVER_FIRST_RESPONSE', client.challenge.serverFirst, null);
  }
  if (!begun) throw new RawException('RuntimeError', 'pam handle was not initialized');
  const final = prove(begun, text, nas.endPoint);
  const user = nas.users.find(({ name }) => name === begun.key.user);
  if (final === undefined || !user) return refused();
  if (user.roles.length === 0) throw new RawException('TypeError', "'NoneType' object is not subscriptable");
  logIn(nas, client, user, 'API_KEY');
  return scramAnswer('SERVER_FINAL_RESPONSE', final, describeUser(client));
}

const scramAnswer = (type: string, text: string, user: Entry | null): Entry => ({
  response_type: 'SCRAM_RESPONSE',
  scram_type: type,
  rfc_str: text,
  user_info: user,
});
