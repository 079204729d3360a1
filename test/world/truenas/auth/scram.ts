import { createHash, createHmac, pbkdf2, randomBytes, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';
import type { ApiKey } from '../nas-state.ts';

/** The server's verifier of a key (RFC 5802), valid as long as the key is unchanged. */
interface Verifier {
  readonly salt: Buffer;
  readonly iterations: number;
  readonly storedKey: Buffer;
  readonly serverKey: Buffer;
}

/** A client's first message, parsed. */
export interface ClientFirst {
  /** `n,,` or `p=tls-server-end-point,,`. */
  readonly header: string;
  readonly bare: string;
  readonly username: string;
  /** TrueNAS appends the id of the key to the user name. */
  readonly keyId: number;
  /** 32 bytes. */
  readonly nonce: Buffer;
}

/** A SCRAM exchange between its two messages. */
export interface ScramChallenge {
  readonly first: ClientFirst;
  readonly verifier: Verifier;
  readonly serverFirst: string;
  readonly nonce: string;
  readonly key: ApiKey;
}

/** The minimum that a client accepts; the real middleware uses ten times as many. */
const iterations = 50_000;
const nonceBytes = 32;
const derive = promisify(pbkdf2);
const hmac = (key: Buffer, text: string) => createHmac('sha512', key).update(text).digest();
const verifiers = new WeakMap<ApiKey, Promise<Verifier>>();

/** Parses a client's first message; undefined when it is invalid. */
export function parseClientFirst(text: string): ClientFirst | undefined {
  const parts = /^((?:n|p=tls-server-end-point),,)(n=([^,:]+):(\d+),r=([^,]+))$/.exec(text);
  if (!parts) return undefined;
  const [, header = '', bare = '', username = '', id, encoded = ''] = parts;
  const nonce = Buffer.from(encoded, 'base64');
  return nonce.length === nonceBytes ? { header, bare, username, keyId: Number(id), nonce } : undefined;
}

/**
 * Answers a first message about this key. Unlike RFC 5802, the common nonce is the base64 of the bytes of both nonces,
 * and does not begin with the text of the client's.
 */
export async function createScramChallenge(key: ApiKey, first: ClientFirst): Promise<ScramChallenge> {
  const verifier = await (verifiers.get(key) ?? cachedVerifier(key));
  const nonce = Buffer.concat([first.nonce, randomBytes(nonceBytes)]).toString('base64');
  const serverFirst = `r=${nonce},s=${verifier.salt.toString('base64')},i=${verifier.iterations}`;
  return { first, verifier, serverFirst, nonce, key };
}

function cachedVerifier(key: ApiKey): Promise<Verifier> {
  const verifier = verifierOf(key);
  verifiers.set(key, verifier);
  return verifier;
}

async function verifierOf({ key }: ApiKey): Promise<Verifier> {
  const salt = randomBytes(16);
  const salted = await derive(key.slice(key.indexOf('-') + 1), salt, iterations, 64, 'sha512');
  const storedKey = createHash('sha512').update(hmac(salted, 'Client Key')).digest();
  return { salt, iterations, storedKey, serverKey: hmac(salted, 'Server Key') };
}

/**
 * The server's final message when the proof is valid, else undefined. `endPoint` is the hash of the certificate that
 * the client sees (RFC 5929). A client with channel binding repeats it.
 */
export function verifyScramProof(
  { first, verifier, serverFirst, nonce }: ScramChallenge,
  final: string,
  endPoint: Buffer,
) {
  const parts = /^(c=([^,]+),r=([^,]+)),p=([^,]+)$/.exec(final);
  if (!parts) return undefined;
  const [, withoutProof = '', binding = '', repeated, proof = ''] = parts;
  const expected = first.header.startsWith('p=')
    ? Buffer.concat([Buffer.from(first.header), endPoint])
    : Buffer.from(first.header);
  if (repeated !== nonce || binding !== expected.toString('base64')) return undefined;
  const message = `${first.bare},${serverFirst},${withoutProof}`;
  const signature = hmac(verifier.storedKey, message);
  const given = Buffer.from(proof, 'base64');
  if (given.length !== signature.length) return undefined;
  const clientKey = Buffer.from(given.map((byte, index) => byte ^ (signature[index] ?? 0)));
  const isRight = timingSafeEqual(createHash('sha512').update(clientKey).digest(), verifier.storedKey);
  return isRight ? `v=${hmac(verifier.serverKey, message).toString('base64')}` : undefined;
}
