import { randomBytes, randomInt } from 'node:crypto';
import { type Client, type Identity, identify } from './client.ts';
import { CallError, errnos } from './errors.ts';
import type { Context, Method } from './method.ts';
import { bool, integer, nullable, object, oneOf, record, required, tagged, text, withDefault } from './model.ts';
import { type ApiKey, type Nas, pause, type User, wireDate } from './nas.ts';
import type { Entry } from './query.ts';

const loginOptions = withDefault(object({ user_info: withDefault(bool, true) }), { user_info: true });
const mechanism = (name: string) => required(oneOf(name));
const login = tagged('mechanism', {
  API_KEY_PLAIN: object({
    mechanism: mechanism('API_KEY_PLAIN'),
    username: required(text()),
    api_key: required(text()),
    login_options: loginOptions,
  }),
  PASSWORD_PLAIN: object({
    mechanism: mechanism('PASSWORD_PLAIN'),
    username: required(text()),
    password: required(text()),
    login_options: loginOptions,
  }),
  TOKEN_PLAIN: object({
    mechanism: mechanism('TOKEN_PLAIN'),
    token: required(text()),
    login_options: loginOptions,
  }),
  OTP_TOKEN: object({
    mechanism: mechanism('OTP_TOKEN'),
    otp_token: required(text()),
    login_options: loginOptions,
  }),
});

/** The one-time password that every user with a second factor has here. */
export const oneTimePassword = '123456';

/** `auth.*`. Everything but SUCCESS is still a successful JSON-RPC answer. */
export const authMethods: readonly Method[] = [
  {
    name: 'auth.login_ex',
    parameters: [{ name: 'login_data', field: required(login) }],
    access: 'anyone',
    run: ([data], context) => loginEx(data as Login, context),
  },
  {
    name: 'auth.login_with_api_key',
    parameters: [{ name: 'api_key', field: required(text()) }],
    access: 'anyone',
    run: async ([key], context) => {
      const owner = findKey(context.nas, String(key))?.user ?? '';
      const data = { mechanism: 'API_KEY_PLAIN', username: owner, api_key: String(key) } as const;
      return succeeded(await loginEx({ ...data, login_options: { user_info: false } }, context));
    },
  },
  {
    name: 'auth.login_with_token',
    parameters: [{ name: 'token', field: required(text()) }],
    access: 'anyone',
    run: async ([token], context) => {
      const data = { mechanism: 'TOKEN_PLAIN', token: String(token) } as const;
      return succeeded(await loginEx({ ...data, login_options: { user_info: false } }, context));
    },
  },
  {
    name: 'auth.login',
    parameters: [
      { name: 'username', field: required(text()) },
      { name: 'password', field: required(text()) },
      { name: 'otp_token', field: withDefault(nullable(text()), null) },
    ],
    access: 'anyone',
    run: async ([username, password, otp], context) => {
      const quiet = { login_options: { user_info: false } };
      const first = { mechanism: 'PASSWORD_PLAIN', username: String(username), password: String(password) } as const;
      const answer = await loginEx({ ...first, ...quiet }, context);
      if (answer['response_type'] !== 'OTP_REQUIRED' || otp === null) return succeeded(answer);
      return succeeded(await loginEx({ mechanism: 'OTP_TOKEN', otp_token: String(otp), ...quiet }, context));
    },
  },
  {
    name: 'auth.mechanism_choices',
    parameters: [],
    access: 'anyone',
    run: () => ['API_KEY_PLAIN', 'TOKEN_PLAIN', 'PASSWORD_PLAIN'],
  },
  { name: 'auth.me', parameters: [], access: 'user', run: (_, { client }) => describeUser(client) },
  {
    name: 'auth.logout',
    parameters: [],
    access: 'user',
    run: (_, { client }) => {
      client.identity = undefined;
      return true;
    },
  },
  {
    name: 'auth.generate_token',
    parameters: [
      { name: 'ttl', field: withDefault(nullable(integer()), 600) },
      { name: 'attrs', field: withDefault(record, {}) },
      { name: 'match_origin', field: withDefault(bool, true) },
      { name: 'single_use', field: withDefault(bool, false) },
    ],
    access: 'user',
    run: ([ttl, attrs, , singleUse], { nas, client }) => {
      const token = randomBytes(32).toString('base64url');
      nas.tokens.set(token, {
        token,
        user: client.identity?.user.name ?? '',
        attributes: attrs as Entry,
        singleUse: singleUse === true,
        ttlSeconds: Number(ttl ?? 600),
        lastUsed: performance.now(),
      });
      return token;
    },
  },
];

interface LoginOptions {
  readonly login_options: { readonly user_info: boolean };
}

type Login = LoginOptions &
  (
    | { readonly mechanism: 'API_KEY_PLAIN'; readonly username: string; readonly api_key: string }
    | { readonly mechanism: 'PASSWORD_PLAIN'; readonly username: string; readonly password: string }
    | { readonly mechanism: 'TOKEN_PLAIN'; readonly token: string }
    | { readonly mechanism: 'OTP_TOKEN'; readonly otp_token: string }
  );

type Verdict = 'SUCCESS' | 'AUTH_ERR' | 'EXPIRED' | 'OTP_REQUIRED';

interface Judgement {
  readonly verdict: Verdict;
  readonly user?: User;
  readonly kind?: Identity['kind'];
}

async function loginEx(data: Login, { nas, client }: Context): Promise<Entry> {
  const { verdict, user, kind } = await judge(nas, client, data);
  if (verdict === 'OTP_REQUIRED') return { response_type: verdict, username: user?.name };
  if (verdict !== 'SUCCESS' || !user || !kind) return { response_type: verdict };
  client.identity = identify(user, kind);
  client.expired = false;
  return {
    response_type: 'SUCCESS',
    user_info: data.login_options.user_info ? describeUser(client) : null,
    authenticator: 'LEVEL_1',
  };
}

const succeeded = (answer: Entry) => answer['response_type'] === 'SUCCESS';

async function judge(nas: Nas, client: Client, data: Login): Promise<Judgement> {
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
  if (isExpired(key)) return slowly(nas, 'EXPIRED');
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

const findKey = (nas: Nas, text: string): ApiKey | undefined => nas.keys.find(({ key }) => key === text);

const isExpired = (key: ApiKey) => key.expiresAt !== null && key.expiresAt.getTime() <= Date.now();

/** The user of a token that is still good. Its life is counted from its last use. */
export function useToken(nas: Nas, text: string): User | undefined {
  const token = nas.tokens.get(text);
  if (!token || Object.keys(token.attributes).length > 0) return undefined;
  if (performance.now() - token.lastUsed > token.ttlSeconds * 1000) {
    nas.tokens.delete(text);
    return undefined;
  }
  token.lastUsed = performance.now();
  if (token.singleUse) nas.tokens.delete(text);
  return nas.users.find(({ name }) => name === token.user);
}

/** Who an upload's `Authorization` header speaks for. Uploads do not revoke a key that came in the clear. */
export function authorize(nas: Nas, header: string | undefined, token: string | null): Identity | undefined {
  const [scheme, rest = ''] = (header ?? '').split(/\s+/, 2);
  const known = (user: User | undefined, kind: Identity['kind']) => (user ? identify(user, kind) : undefined);
  if (token !== null) return known(useToken(nas, token), 'TOKEN');
  if (scheme === 'Token') return known(useToken(nas, rest), 'TOKEN');
  if (scheme === 'Bearer') {
    const key = findKey(nas, rest);
    const owner = key && !isExpired(key) ? nas.users.find(({ name }) => name === key.user) : undefined;
    return known(owner, 'API_KEY');
  }
  if (scheme !== 'Basic') return undefined;
  const [name, ...password] = Buffer.from(rest, 'base64').toString().split(':');
  const user = nas.users.find((one) => one.name === name && one.password === password.join(':'));
  return user && !user.twoFactor ? known(user, 'LOGIN_PASSWORD') : undefined;
}

/** `auth.me` and the `user_info` of a login. */
function describeUser({ identity }: Client): Entry {
  const name = identity?.user.name ?? '';
  const isRoot = name === 'root';
  return {
    pw_name: name,
    pw_gecos: name,
    pw_dir: isRoot ? '/root' : `/home/${name}`,
    pw_shell: '/usr/bin/zsh',
    pw_uid: isRoot ? 0 : 3000,
    pw_gid: isRoot ? 0 : 3000,
    grouplist: null,
    sid: null,
    source: 'LOCAL',
    local: true,
    attributes: {},
    two_factor_config: { secret_configured: identity?.user.twoFactor ?? false, provisioning_uri: null },
    privilege: {
      allowlist: identity?.roles.has('FULL_ADMIN') ? [{ method: '*', resource: '*' }] : [],
      roles: { $set: [...(identity?.roles ?? [])].sort() },
      web_shell: isRoot,
      webui_access: true,
    },
    account_attributes: ['LOCAL', ...(identity?.kind === 'API_KEY' ? ['API_KEY'] : [])],
    login_at: wireDate(identity?.since ?? null),
  };
}
