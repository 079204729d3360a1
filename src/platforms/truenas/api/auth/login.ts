import { deadlineSignal } from '../../../../lib/deadline.ts';
import type { ProviderError } from '../../../../lib/errors.ts';
import { SecretString } from '../../../../lib/secret-string.ts';
import { TrueNasError } from '../../error-codes.ts';
import { hasCode, toTrueNasError } from '../../errors.ts';
import type { Rpc } from '../rpc.ts';
import { LoginReply, parseTrueNasReply } from '../schema.ts';
import { tlsServerEndPoint } from './channel-binding.ts';
import { answerScram, beginScram } from './scram.ts';

/** How the key is used: sent in the login, or only proven by SCRAM. */
export const loginMechanisms = ['Plain', 'Scram'] as const;
export type LoginMechanism = (typeof loginMechanisms)[number];

/** The credentials of a login. */
export interface TrueNasCredentials {
  /** Default: plain. */
  readonly login?: LoginMechanism | undefined;
  readonly username: SecretString;
  readonly apiKey: SecretString;
}

/** Roles of the user, where the system reports them. */
export type UserRoles = readonly string[] | undefined;

/** TrueNAS delays its answer to a wrong key on purpose. The timeout allows for that. */
const loginTimeoutSeconds = 30;

/** Logs a connection in by the named mechanism and no other. Throws a ProviderError for every answer but success. */
export async function logIn(rpc: Rpc, login: TrueNasCredentials, signal: AbortSignal): Promise<UserRoles> {
  return login.login === 'Scram' ? await logInWithScram(rpc, login, signal) : await logInWithKey(rpc, login, signal);
}

async function logInWithKey(
  rpc: Rpc,
  { username, apiKey }: TrueNasCredentials,
  signal: AbortSignal,
): Promise<UserRoles> {
  const request = {
    mechanism: 'API_KEY_PLAIN',
    username: username.reveal(),
    api_key: apiKey.reveal(),
    login_options: { user_info: true },
  };
  const reply = await requestLogin(rpc, request, signal);
  if (reply.response_type !== 'SUCCESS') throw toLoginError(reply);
  return rolesOf(reply);
}

async function logInWithScram(
  rpc: Rpc,
  { username, apiKey }: TrueNasCredentials,
  signal: AbortSignal,
): Promise<UserRoles> {
  const [, id = '', key = ''] = /^(\d+)-(.+)$/.exec(apiKey.reveal()) ?? [];
  if (id === '')
    throw new TrueNasError('TRUENAS_KEY_REFUSED', 'An API key for SCRAM begins with its number and a hyphen.');
  const endPoint = rpc.certificate && tlsServerEndPoint(rpc.certificate);
  if (!endPoint) {
    const message = 'Its certificate is signed with neither RSA nor ECDSA, so channel binding is not possible.';
    throw new TrueNasError('TRUENAS_SCRAM_UNSUPPORTED', message);
  }
  const start = beginScram(username.reveal(), id, endPoint);
  const first = await sendScramMessage(rpc, 'CLIENT_FIRST_MESSAGE', start.message, signal).catch((error: unknown) => {
    // Versions before 26 do not know the mechanism. An attacker in between could answer the same, so the key is not
    // sent instead.
    if (!hasCode(toTrueNasError(error, 'auth.login_ex'), 'TRUENAS_REFUSED')) throw error;
    throw new TrueNasError('TRUENAS_SCRAM_UNSUPPORTED', '', { cause: error });
  });
  const proof = await answerScram(start, new SecretString(key), scramTextOf(first, 'SERVER_FIRST_RESPONSE'));
  const last = await sendScramMessage(rpc, 'CLIENT_FINAL_MESSAGE', proof.message, signal);
  if (!proof.isGenuine(scramTextOf(last, 'SERVER_FINAL_RESPONSE'))) throw new TrueNasError('TRUENAS_SERVER_UNPROVEN');
  return rolesOf(last);
}

async function sendScramMessage(rpc: Rpc, type: string, text: string, signal: AbortSignal): Promise<LoginReply> {
  return await requestLogin(rpc, { mechanism: 'SCRAM', scram_type: type, rfc_str: text }, signal);
}

/**
 * The expected SCRAM message of the server. Every other answer is a refusal, even SUCCESS, which proves nothing here.
 */
function scramTextOf(reply: LoginReply, type: string): string {
  const { response_type, scram_type, rfc_str = '' } = reply;
  if (response_type === 'SCRAM_RESPONSE' && scram_type === type) return rfc_str;
  if (response_type !== 'AUTH_ERR') throw toLoginError(reply);
  throw new TrueNasError(
    'TRUENAS_KEY_REFUSED',
    'With SCRAM, TrueNAS does not distinguish a wrong key from an expired or revoked one, or from a connection through a proxy with another certificate.',
  );
}

async function requestLogin(rpc: Rpc, request: object, signal: AbortSignal): Promise<LoginReply> {
  const answer = await rpc.request('auth.login_ex', [request], deadlineSignal(loginTimeoutSeconds, signal));
  return parseTrueNasReply('auth.login_ex', answer, LoginReply);
}

/** Maps an answer that refuses the login to an error. Such answers are successful calls, too. */
function toLoginError({ response_type: type }: LoginReply): ProviderError {
  switch (type) {
    case 'AUTH_ERR':
      return new TrueNasError('TRUENAS_KEY_REFUSED');
    case 'EXPIRED':
      return new TrueNasError('TRUENAS_KEY_EXPIRED');
    case 'OTP_REQUIRED':
      return new TrueNasError('TRUENAS_OTP_REQUIRED');
    case 'REDIRECT':
      return new TrueNasError(
        'TRUENAS_LOGIN_DENIED',
        'It is the standby controller of an HA pair: use the active one in truenas.url.',
      );
    default:
      return new TrueNasError('TRUENAS_LOGIN_DENIED', `The response to the login was ${type.slice(0, 40)}.`);
  }
}

/** A set, `{ "$set": [...] }`, in TrueNAS's extended JSON. */
function rolesOf(reply: LoginReply): UserRoles {
  const roles: unknown = reply.user_info?.privilege?.roles;
  const list = Array.isArray(roles) ? roles : (roles as { $set?: unknown } | undefined)?.$set;
  return Array.isArray(list) ? list.filter((role) => typeof role === 'string') : undefined;
}
