import { randomBytes } from 'node:crypto';
import { type ApiMethod, plainMethod } from '../middleware/method.ts';
import {
  booleanModel,
  defaultedField,
  dictionaryModel,
  integerModel,
  literalModel,
  nullableModel,
  objectModel,
  requiredField,
  taggedUnionModel,
  textModel,
} from '../middleware/parameter-model.ts';
import type { Entry } from '../middleware/query.ts';
import type { TrueNasRelease } from '../versions.ts';
import { handleLoginEx, type LoginRequest } from './login.ts';

/** The simulated login mechanisms of a release. */
function loginModel(version: TrueNasRelease) {
  const options = {
    user_info: defaultedField(booleanModel, true),
    ...(version.hasScram ? { reconnect_token: defaultedField(booleanModel, false) } : {}),
  };
  const apiKey = objectModel({
    mechanism: requiredField(literalModel('API_KEY_PLAIN')),
    username: requiredField(textModel()),
    api_key: requiredField(textModel()),
    login_options: defaultedField(objectModel(options), { user_info: true }),
  });
  const scram = objectModel({
    mechanism: requiredField(literalModel('SCRAM')),
    scram_type: requiredField(literalModel('CLIENT_FIRST_MESSAGE', 'CLIENT_FINAL_MESSAGE')),
    rfc_str: requiredField(textModel()),
  });
  return taggedUnionModel('mechanism', { API_KEY_PLAIN: apiKey, ...(version.hasScram ? { SCRAM: scram } : {}) });
}

/** `auth.*`. Everything but SUCCESS is still a successful JSON-RPC answer. */
export const authMethods = (version: TrueNasRelease): readonly ApiMethod[] => [
  plainMethod(
    'auth.login_ex',
    [{ name: 'login_data', field: requiredField(loginModel(version)) }],
    'anyone',
    ([data], context) => handleLoginEx(data as LoginRequest, context),
  ),
  plainMethod('auth.mechanism_choices', [], 'anyone', () => [
    'API_KEY_PLAIN',
    'TOKEN_PLAIN',
    'PASSWORD_PLAIN',
    ...(version.hasScram ? ['SCRAM'] : []),
  ]),
  plainMethod(
    'auth.generate_token',
    [
      { name: 'ttl', field: defaultedField(nullableModel(integerModel()), 600) },
      { name: 'attrs', field: defaultedField(dictionaryModel, {}) },
      { name: 'match_origin', field: defaultedField(booleanModel, true) },
      { name: 'single_use', field: defaultedField(booleanModel, false) },
    ],
    'user',
    ([ttl, attrs, , singleUse], { nas, client }) => {
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
  ),
];
