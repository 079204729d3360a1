import { randomBytes } from 'node:crypto';
import { PythonException } from '../middleware/errors.ts';
import type { ApiMethod } from '../middleware/method.ts';
import {
  booleanModel,
  defaultedField,
  dictionaryModel,
  integerModel,
  nullableModel,
  requiredField,
  textModel,
} from '../middleware/parameter-model.ts';
import type { Entry } from '../middleware/query.ts';
import type { TrueNasRelease } from '../versions.ts';
import { describeUser } from './account-methods.ts';
import { handleLoginEx, isLoginSuccess } from './login.ts';
import { type LoginRequest, loginModel } from './login-model.ts';
import { findKey } from './tokens.ts';

/** `auth.*`. Everything but SUCCESS is still a successful JSON-RPC answer. */
export function authMethods(version: TrueNasRelease): readonly ApiMethod[] {
  return [
    ...['auth.login_ex', 'auth.login_ex_continue'].map((name) => ({
      name,
      parameters: [{ name: 'login_data', field: requiredField(loginModel(version)) }],
      access: 'anyone' as const,
      run: ([data]: readonly unknown[], context: Parameters<typeof handleLoginEx>[1]) =>
        handleLoginEx(data as LoginRequest, context),
    })),
    ...legacyLoginMethods,
    {
      name: 'auth.mechanism_choices',
      parameters: [],
      access: 'anyone',
      run: (_, { client }) => {
        if (version.mechanismChoicesNeedLogin && !client.identity) {
          throw new PythonException('AttributeError', "'NoneType' object has no attribute 'may_create_auth_token'");
        }
        return ['API_KEY_PLAIN', 'TOKEN_PLAIN', 'PASSWORD_PLAIN', ...(version.hasScram ? ['SCRAM'] : [])];
      },
    },
    ...sessionMethods,
  ];
}

const withoutUserInfo = { login_options: { user_info: false } };

/** The methods before `auth.login_ex`: the same logins, answered by true or false. */
const legacyLoginMethods: readonly ApiMethod[] = [
  {
    name: 'auth.login_with_api_key',
    parameters: [{ name: 'api_key', field: requiredField(textModel()) }],
    access: 'anyone',
    run: async ([key], context) => {
      const owner = findKey(context.nas, String(key))?.user ?? '';
      const data = { mechanism: 'API_KEY_PLAIN', username: owner, api_key: String(key) } as const;
      return isLoginSuccess(await handleLoginEx({ ...data, ...withoutUserInfo }, context));
    },
  },
  {
    name: 'auth.login_with_token',
    parameters: [{ name: 'token', field: requiredField(textModel()) }],
    access: 'anyone',
    run: async ([token], context) =>
      isLoginSuccess(
        await handleLoginEx({ mechanism: 'TOKEN_PLAIN', token: String(token), ...withoutUserInfo }, context),
      ),
  },
  {
    name: 'auth.login',
    parameters: [
      { name: 'username', field: requiredField(textModel()) },
      { name: 'password', field: requiredField(textModel()) },
      { name: 'otp_token', field: defaultedField(nullableModel(textModel()), null) },
    ],
    access: 'anyone',
    run: async ([username, password, otp], context) => {
      const first = { mechanism: 'PASSWORD_PLAIN', username: String(username), password: String(password) } as const;
      const answer = await handleLoginEx({ ...first, ...withoutUserInfo }, context);
      if (answer['response_type'] !== 'OTP_REQUIRED' || otp === null) return isLoginSuccess(answer);
      return isLoginSuccess(
        await handleLoginEx({ mechanism: 'OTP_TOKEN', otp_token: String(otp), ...withoutUserInfo }, context),
      );
    },
  },
];

const sessionMethods: readonly ApiMethod[] = [
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
      { name: 'ttl', field: defaultedField(nullableModel(integerModel()), 600) },
      { name: 'attrs', field: defaultedField(dictionaryModel, {}) },
      { name: 'match_origin', field: defaultedField(booleanModel, true) },
      { name: 'single_use', field: defaultedField(booleanModel, false) },
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
