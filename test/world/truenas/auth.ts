import { randomBytes } from 'node:crypto';
import { describeUser } from './accounts.ts';
import { RawException } from './errors.ts';
import { loginEx, succeeded } from './login.ts';
import { type Login, loginModel } from './login-model.ts';
import type { Method } from './method.ts';
import { bool, integer, nullable, record, required, text, withDefault } from './model.ts';
import type { Entry } from './query.ts';
import { findKey } from './tokens.ts';
import type { Version } from './versions.ts';

/** `auth.*`. Everything but SUCCESS is still a successful JSON-RPC answer. */
export function authMethods(version: Version): readonly Method[] {
  return [
    ...['auth.login_ex', 'auth.login_ex_continue'].map((name) => ({
      name,
      parameters: [{ name: 'login_data', field: required(loginModel(version)) }],
      access: 'anyone' as const,
      run: ([data]: readonly unknown[], context: Parameters<typeof loginEx>[1]) => loginEx(data as Login, context),
    })),
    ...olderLogins,
    {
      name: 'auth.mechanism_choices',
      parameters: [],
      access: 'anyone',
      run: (_, { client }) => {
        if (version.mechanismChoicesNeedLogin && !client.identity) {
          throw new RawException('AttributeError', "'NoneType' object has no attribute 'may_create_auth_token'");
        }
        return ['API_KEY_PLAIN', 'TOKEN_PLAIN', 'PASSWORD_PLAIN', ...(version.hasScram ? ['SCRAM'] : [])];
      },
    },
    ...sessionMethods,
  ];
}

const quiet = { login_options: { user_info: false } };

/** What there was before `auth.login_ex`: the same logins, answered by true or false. */
const olderLogins: readonly Method[] = [
  {
    name: 'auth.login_with_api_key',
    parameters: [{ name: 'api_key', field: required(text()) }],
    access: 'anyone',
    run: async ([key], context) => {
      const owner = findKey(context.nas, String(key))?.user ?? '';
      const data = { mechanism: 'API_KEY_PLAIN', username: owner, api_key: String(key) } as const;
      return succeeded(await loginEx({ ...data, ...quiet }, context));
    },
  },
  {
    name: 'auth.login_with_token',
    parameters: [{ name: 'token', field: required(text()) }],
    access: 'anyone',
    run: async ([token], context) =>
      succeeded(await loginEx({ mechanism: 'TOKEN_PLAIN', token: String(token), ...quiet }, context)),
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
      const first = { mechanism: 'PASSWORD_PLAIN', username: String(username), password: String(password) } as const;
      const answer = await loginEx({ ...first, ...quiet }, context);
      if (answer['response_type'] !== 'OTP_REQUIRED' || otp === null) return succeeded(answer);
      return succeeded(await loginEx({ mechanism: 'OTP_TOKEN', otp_token: String(otp), ...quiet }, context));
    },
  },
];

const sessionMethods: readonly Method[] = [
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
