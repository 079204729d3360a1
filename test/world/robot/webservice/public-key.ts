import { createHash, createPublicKey } from 'node:crypto';
import ssh2 from 'ssh2';

export interface ParsedPublicKey {
  /** MD5 of the blob, 16 bytes with colons. */
  readonly fingerprint: string;
  readonly type: 'ED25519' | 'RSA';
  readonly size: number;
  /** As OpenSSH writes it, without a comment. */
  readonly data: string;
}

/** Parses a public key; undefined when it is damaged, or of a kind that is not simulated. */
export function parsePublicKey(text: string): ParsedPublicKey | undefined {
  const [key] = [ssh2.utils.parseKey(text.trim())].flat();
  if (!key || key instanceof Error || key.isPrivateKey()) return undefined;
  const type = { 'ssh-ed25519': 'ED25519', 'ssh-rsa': 'RSA' }[key.type as string] as
    | ParsedPublicKey['type']
    | undefined;
  if (!type) return undefined;
  const blob = key.getPublicSSH();
  const digest = createHash('md5').update(blob).digest('hex');
  const size = createPublicKey(key.getPublicPEM()).asymmetricKeyDetails?.modulusLength ?? 256;
  const fingerprint = digest.replace(/(..)(?!$)/g, '$1:');
  return { fingerprint, type, size, data: `${key.type} ${blob.toString('base64')}` };
}
