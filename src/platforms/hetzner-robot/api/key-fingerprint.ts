import { createHash } from 'node:crypto';

/**
 * The fingerprint by which Robot identifies a key: MD5 of its blob, 16 bytes in lower case with colons. Throws a
 * RangeError when the text is no public key in OpenSSH format.
 */
export function robotKeyFingerprint(publicKey: string): string {
  const base64 = /^[a-z0-9@.-]+ +([A-Za-z0-9+/]{16,}={0,2})(?:\s|$)/.exec(publicKey.trim())?.[1];
  if (base64 === undefined) throw new RangeError('not a public key in OpenSSH format');
  const digest = createHash('md5').update(Buffer.from(base64, 'base64')).digest('hex');
  return digest.match(/../g)?.join(':') ?? '';
}
