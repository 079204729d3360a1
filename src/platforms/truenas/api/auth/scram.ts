import { createHash, createHmac, pbkdf2, randomBytes, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';
import type { SecretString } from '../../../../lib/secret-string.ts';
import { TrueNasError } from '../../error-codes.ts';

/**
 * SCRAM-SHA-512 (RFC 5802) as TrueNAS implements it from 26 on: both sides prove that they know the API key, and
 * neither sends it. It differs from the RFC in two ways: the id of the key follows the user name, and nonces are 32
 * bytes in base64 whose bytes are joined, not their texts (api_client: py_scram).
 */

/** Both sides also prove which certificate they see, so a proxy with another certificate cannot forward the proofs. */
const gs2Header = 'p=tls-server-end-point,,';
const nonceBytes = 32;
/** The limits of TrueNAS itself; it uses 500,000 (middleware: utils/crypto.py). */
const iterationBounds = { fewest: 50_000, most: 5_000_000 };

/** A login in progress. */
export interface ScramStart {
  /** `client-first-message`. */
  readonly message: string;
  readonly clientFirstBare: string;
  readonly nonce: Buffer;
  /** The certificate's hash. */
  readonly endPoint: Buffer;
}

/** The answer to the challenge of the server. */
export interface ScramProof {
  /** `client-final-message`. */
  readonly message: string;
  /** True when `server-final-message` proves that the server knows the key, too. */
  isGenuine(serverFinal: string): boolean;
}

/**
 * Begins a login as the owner of the key with this id, to the server whose certificate has this hash (RFC 5929). Throws
 * TRUENAS_KEY_REFUSED for a name that no TrueNAS user can have.
 */
export function beginScram(
  username: string,
  keyId: string,
  endPoint: Buffer,
  nonce = randomBytes(nonceBytes),
): ScramStart {
  if (!/^[^,=:]+$/.test(username)) {
    throw new TrueNasError('TRUENAS_KEY_REFUSED', 'The username in the Secret is not a valid TrueNAS username.');
  }
  const bare = `n=${username}:${keyId},r=${nonce.toString('base64')}`;
  return { message: gs2Header + bare, clientFirstBare: bare, nonce, endPoint };
}

const derive = promisify(pbkdf2);
const hmac = (key: Buffer, text: string) => createHmac('sha512', key).update(text).digest();

/**
 * Answers `server-first-message`. `key` is the API key without its id. Throws TRUENAS_SERVER_UNPROVEN when the
 * challenge does not belong to this login, or is weaker than TrueNAS's own.
 */
export async function answerScram(
  { clientFirstBare, nonce, endPoint }: ScramStart,
  key: SecretString,
  serverFirst: string,
): Promise<ScramProof> {
  const [, joined = '', salt = '', schedule = ''] = /^r=([^,]+),s=([^,]+),i=([1-9]\d{0,8})$/.exec(serverFirst) ?? [];
  const both = Buffer.from(joined, 'base64');
  if (both.length !== 2 * nonceBytes || !both.subarray(0, nonceBytes).equals(nonce)) {
    throw new TrueNasError('TRUENAS_SERVER_UNPROVEN', 'The SCRAM challenge does not belong to this login.');
  }
  const count = Number(schedule);
  if (count < iterationBounds.fewest || count > iterationBounds.most) {
    throw new TrueNasError('TRUENAS_SERVER_UNPROVEN', `The SCRAM challenge requires ${count} iterations.`);
  }
  const salted = await derive(key.reveal(), Buffer.from(salt, 'base64'), count, 64, 'sha512');
  const clientKey = hmac(salted, 'Client Key');
  const bound = Buffer.concat([Buffer.from(gs2Header), endPoint]).toString('base64');
  const withoutProof = `c=${bound},r=${joined}`;
  const exchange = `${clientFirstBare},${serverFirst},${withoutProof}`;
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
