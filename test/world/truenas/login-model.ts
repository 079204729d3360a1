import { bool, object, oneOf, required, tagged, text, withDefault } from './model.ts';
import type { Version } from './versions.ts';

interface LoginOptions {
  readonly login_options: { readonly user_info: boolean; readonly reconnect_token?: boolean };
}

/** The argument of `auth.login_ex`. */
export type Login =
  | (LoginOptions & { readonly mechanism: 'API_KEY_PLAIN'; readonly username: string; readonly api_key: string })
  | (LoginOptions & { readonly mechanism: 'PASSWORD_PLAIN'; readonly username: string; readonly password: string })
  | (LoginOptions & { readonly mechanism: 'TOKEN_PLAIN'; readonly token: string })
  | (LoginOptions & { readonly mechanism: 'OTP_TOKEN'; readonly otp_token: string })
  | ScramLogin;

/** One of the two messages of a client. It has no options. */
export interface ScramLogin {
  readonly mechanism: 'SCRAM';
  readonly scram_type: 'CLIENT_FIRST_MESSAGE' | 'CLIENT_FINAL_MESSAGE';
  readonly rfc_str: string;
}

/** What a release takes as a login. */
export function loginModel(version: Version) {
  const options = {
    user_info: withDefault(bool, true),
    ...(version.hasScram ? { reconnect_token: withDefault(bool, false) } : {}),
  };
  const usual = version.hasScram ? { user_info: true, reconnect_token: false } : { user_info: true };
  const mechanism = (name: string, fields: readonly string[]) =>
    object({
      mechanism: required(oneOf(name)),
      ...Object.fromEntries(fields.map((field) => [field, required(text())])),
      login_options: withDefault(object(options), usual),
    });
  return tagged('mechanism', {
    API_KEY_PLAIN: mechanism('API_KEY_PLAIN', ['username', 'api_key']),
    PASSWORD_PLAIN: mechanism('PASSWORD_PLAIN', ['username', 'password']),
    TOKEN_PLAIN: mechanism('TOKEN_PLAIN', ['token']),
    OTP_TOKEN: mechanism('OTP_TOKEN', ['otp_token']),
    ...(version.hasScram ? { SCRAM: scram } : {}),
  });
}

const scram = object({
  mechanism: required(oneOf('SCRAM')),
  scram_type: required(oneOf('CLIENT_FIRST_MESSAGE', 'CLIENT_FINAL_MESSAGE')),
  rfc_str: required(text()),
});
