import {
  booleanModel,
  defaultedField,
  literalModel,
  objectModel,
  requiredField,
  taggedUnionModel,
  textModel,
} from '../middleware/parameter-model.ts';
import type { TrueNasRelease } from '../versions.ts';

interface LoginOptions {
  readonly login_options: { readonly user_info: boolean; readonly reconnect_token?: boolean };
}

/** The argument of `auth.login_ex`. */
export type LoginRequest =
  | (LoginOptions & { readonly mechanism: 'API_KEY_PLAIN'; readonly username: string; readonly api_key: string })
  | (LoginOptions & { readonly mechanism: 'PASSWORD_PLAIN'; readonly username: string; readonly password: string })
  | (LoginOptions & { readonly mechanism: 'TOKEN_PLAIN'; readonly token: string })
  | (LoginOptions & { readonly mechanism: 'OTP_TOKEN'; readonly otp_token: string })
  | ScramLoginRequest;

/** One of the two messages of a client. It has no options. */
export interface ScramLoginRequest {
  readonly mechanism: 'SCRAM';
  readonly scram_type: 'CLIENT_FIRST_MESSAGE' | 'CLIENT_FINAL_MESSAGE';
  readonly rfc_str: string;
}

/** The accepted login mechanisms of a release. */
export function loginModel(version: TrueNasRelease) {
  const options = {
    user_info: defaultedField(booleanModel, true),
    ...(version.hasScram ? { reconnect_token: defaultedField(booleanModel, false) } : {}),
  };
  const usual = version.hasScram ? { user_info: true, reconnect_token: false } : { user_info: true };
  const mechanism = (name: string, fields: readonly string[]) =>
    objectModel({
      mechanism: requiredField(literalModel(name)),
      ...Object.fromEntries(fields.map((field) => [field, requiredField(textModel())])),
      login_options: defaultedField(objectModel(options), usual),
    });
  return taggedUnionModel('mechanism', {
    API_KEY_PLAIN: mechanism('API_KEY_PLAIN', ['username', 'api_key']),
    PASSWORD_PLAIN: mechanism('PASSWORD_PLAIN', ['username', 'password']),
    TOKEN_PLAIN: mechanism('TOKEN_PLAIN', ['token']),
    OTP_TOKEN: mechanism('OTP_TOKEN', ['otp_token']),
    ...(version.hasScram ? { SCRAM: scram } : {}),
  });
}

const scram = objectModel({
  mechanism: requiredField(literalModel('SCRAM')),
  scram_type: requiredField(literalModel('CLIENT_FIRST_MESSAGE', 'CLIENT_FINAL_MESSAGE')),
  rfc_str: requiredField(textModel()),
});
