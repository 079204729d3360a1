import { createHash, createHmac, pbkdf2, randomBytes, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';
import { ProviderError } from '../../../../lib/errors.ts';
import type { SecretString } from '../../../../lib/secret-string.ts';

/**
 * SCRAM-SHA-512 (RFC 5802) as TrueNAS speaks it from 26 on: both sides prove that they know the API key, and neither tells it.
 * It departs from the RFC in two things: the number of the key stands behind the user's name, and nonces are 32 bytes in base64
 * whose bytes are joined, not their texts (api_client: py_scram).
 */

/** Both sides prove which certificate they see, too: whoever stands in between with another one cannot pass the proofs on. */
const gs2Header = 'p=tls-server-end-point,,';
const nonceBytes = 32;
/** The bounds of TrueNAS itself; it takes 500,000 (middleware: utils/crypto.py). */
const iterationBounds = { fewest: 50_000, most: 5_000_000 };

/** A login that has begun. */
export interface ScramStart {
  /** `client-first-message`, to be sent. */
  readonly message: string;
  readonly bare: string;
  readonly nonce: Buffer;
  /** The certificate's hash. */
  readonly endPoint: Buffer;
}

/** What answers the challenge of the server. */
export interface ScramProof {
  /** `client-final-message`, to be sent. */
  readonly message: string;
  /** Whether `server-final-message` could only come from somebody who knows the key, too. */
  isGenuine(serverFinal: string): boolean;
}

/**
 * Begins a login as the owner of the key of this number, at the side whose certificate has this hash (RFC 5929). Throws TRUENAS_KEY_REFUSED for a name that
 * no user of TrueNAS can have.
 */
export function beginScram(
  username: string,
  keyId: string,
  endPoint: Buffer,
  nonce = randomBytes(nonceBytes),
): ScramStart {
  if (!/^[^,=:]+$/.test(username)) {
    throw new ProviderError('TRUENAS_KEY_REFUSED', 'The username in the Secret is none that TrueNAS could know.');
  }
  const bare = `n=${username}:${keyId},r=${nonce.toString('base64')}`;
  return { message: gs2Header + bare, bare, nonce, endPoint };
}

const derive = promisify(pbkdf2);
const hmac = (key: Buffer, text: string) => createHmac('sha512', key).update(text).digest();

/**
 * Answers `server-first-message`. `key` is the API key without its number. Throws TRUENAS_SERVER_UNPROVEN when the challenge does
 * not belong to what was begun, or is weaker than one of TrueNAS.
 */
export async function answerScram(
  { bare, nonce, endPoint }: ScramStart,
  key: SecretString,
  serverFirst: string,
): Promise<ScramProof> {
  const [, joined = '', salt = '', rounds = ''] = /^r=([^,]+),s=([^,]+),i=([1-9]\d{0,8})$/.exec(serverFirst) ?? [];
  const both = Buffer.from(joined, 'base64');
  if (both.length !== 2 * nonceBytes || !both.subarray(0, nonceBytes).equals(nonce)) {
    throw new ProviderError('TRUENAS_SERVER_UNPROVEN', 'Its challenge does not belong to our login.');
  }
  const count = Number(rounds);
  if (count < iterationBounds.fewest || count > iterationBounds.most) {
    throw new ProviderError('TRUENAS_SERVER_UNPROVEN', `Its challenge wants ${count} iterations.`);
  }
  const salted = await derive(key.reveal(), Buffer.from(salt, 'base64'), count, 64, 'sha512');
  const clientKey = hmac(salted, 'Client Key');
  const bound = Buffer.concat([Buffer.from(gs2Header), endPoint]).toString('base64');
  const withoutProof = `c=${bound},r=${joined}`;
  const exchange = `${bare},${serverFirst},${withoutProof}`;
  const signature = hmac(createHash('sha512').update(clientKey).digest(), exchange);
  const proof = Buffer.from(clientKey.map((byte, index) => byte ^ (signature[index] ?? 0)));
  const expected = hmac(hmac(salted, 'Server Key'), exchange);
  return {
    message: `${withoutProof},p=${proof.toString('base64')}`,
    isGenuine: (serverFinal) => {
      const given = Buffer.from(/^v=([^,]+)$/.exec(serverFinal)?.[1] ?? '', 'base64');
      return given.length === expected.length && timingSafeEqual(given, expected);
    },
  };
}
