import { createPublicKey, generateKeyPairSync, type KeyObject, randomUUID, sign } from 'node:crypto';

/** ES256 keys are fast to generate; RS256 is what most issuers use. */
export type SigningAlgorithm = 'ES256' | 'RS256';

/** A signing key of an issuer. */
export interface SigningKey {
  readonly id: string;
  readonly algorithm: SigningAlgorithm;
  readonly key: KeyObject;
}

export function newSigningKey(algorithm: SigningAlgorithm): SigningKey {
  const pair =
    algorithm === 'ES256'
      ? generateKeyPairSync('ec', { namedCurve: 'P-256' })
      : generateKeyPairSync('rsa', { modulusLength: 2048 });
  return { id: randomUUID(), algorithm, key: pair.privateKey };
}

/** Its entry in the key set. */
export const toJwk = ({ id, algorithm, key }: SigningKey): Record<string, unknown> => ({
  use: 'sig',
  kid: id,
  alg: algorithm,
  ...createPublicKey(key).export({ format: 'jwk' }),
});

/** A signed token with these claims. */
export function signToken({ id, algorithm, key }: SigningKey, claims: Readonly<Record<string, unknown>>): string {
  const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  const text = `${encode({ alg: algorithm, kid: id, typ: 'JWT' })}.${encode(claims)}`;
  const signature = sign('sha256', Buffer.from(text), { key, dsaEncoding: 'ieee-p1363' });
  return `${text}.${signature.toString('base64url')}`;
}
