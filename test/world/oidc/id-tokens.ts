import { z } from 'zod';
import type { LoginGrant } from './grants.ts';
import { newSigningKey, type SigningKey, signToken } from './signing-keys.ts';

/** The subject of a token, and its possible faults. */
const RequestedToken = z.strictObject({
  /** `sub`. */
  subject: z.string(),
  groups: z.array(z.string()).optional(),
  audience: z.union([z.string(), z.array(z.string())]),
  /** Negative: it has already expired. */
  lifetimeSeconds: z.number().default(600),
  /** Additional claims. They replace the usual ones, including `iss`. */
  claims: z.record(z.string(), z.unknown()).default({}),
  /** `stranger`: a key that the issuer never had, with the id of the current one. */
  key: z.enum(['current', 'stranger']).default('current'),
});
export type TokenSpec = z.input<typeof RequestedToken>;

/** The signing keys and the clock. */
interface SigningContext {
  readonly issuer: string;
  /** The current one is first. */
  readonly keys: readonly SigningKey[];
  readonly now: Date;
}

/** A token for any user, also an invalid one. */
export function signRequestedToken({ issuer, keys, now }: SigningContext, given: TokenSpec): string {
  const desired = RequestedToken.parse(given);
  const current = currentKey(keys);
  const key = desired.key === 'current' ? current : { ...newSigningKey(current.algorithm), id: current.id };
  const times = { iat: toSeconds(now) - 60, exp: toSeconds(now) + desired.lifetimeSeconds };
  const { subject: sub, audience: aud, groups } = desired;
  return signToken(key, { iss: issuer, sub, aud, ...times, ...(groups ? { groups } : {}), ...desired.claims });
}

/** The ID token of a login, with the claims of its scopes (OpenID Connect Core, 5.4). */
export function signIdToken({ issuer, keys, now }: SigningContext, login: LoginGrant, lifetimeSeconds: number): string {
  const { person, scopes, nonce } = login;
  const { subject, groups, email } = person;
  return signToken(currentKey(keys), {
    iss: issuer,
    sub: subject,
    aud: login.client,
    iat: toSeconds(now),
    exp: toSeconds(now) + lifetimeSeconds,
    auth_time: toSeconds(login.at),
    ...(nonce === undefined ? {} : { nonce }),
    ...(scopes.includes('groups') ? { groups } : {}),
    ...(scopes.includes('email') && email !== undefined ? { email, email_verified: true } : {}),
    ...person.claims,
  });
}

function currentKey([current]: readonly SigningKey[]): SigningKey {
  if (!current) throw new Error('the issuer has no key');
  return current;
}

const toSeconds = (date: Date): number => Math.floor(date.getTime() / 1000);
