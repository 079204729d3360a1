import { createHash } from 'node:crypto';
import ssh2, { type ParsedKey } from 'ssh2';
import type { SecretString } from '../../../lib/secret-string.ts';
import { trimTrailing } from '../../../lib/text.ts';
import { HetznerRobotError } from '../error-codes.ts';

/** The public key as one line in OpenSSH format, without a comment, for Robot's `POST /key`. Throws SSH_KEY_INVALID. */
export function publicKeyOf(privateKey: SecretString): string {
  const key = parseSshPrivateKey(privateKey);
  return `${key.type} ${key.getPublicSSH().toString('base64')}`;
}

/** Parses a private key. Throws SSH_KEY_INVALID. */
export function parseSshPrivateKey(privateKey: SecretString): ParsedKey {
  const text = privateKey.reveal().trim();
  const parsed = ssh2.utils.parseKey(`${text}\n`);
  if (parsed instanceof Error) throw new HetznerRobotError('SSH_KEY_INVALID', `${describeParserError(parsed.message)}`);
  const [key] = [parsed].flat();
  if (!key?.isPrivateKey()) throw new HetznerRobotError('SSH_KEY_INVALID', 'It is a public key.');
  return key;
}

/** The fingerprint as `ssh-keygen -l` prints it. */
export const sshKeyFingerprint = (blob: Buffer): string =>
  `SHA256:${createHash('sha256').update(blob).digest('base64').replaceAll('=', '')}`;

/** The parser's message never contains key material. */
const describeParserError = (text: string): string =>
  /passphrase|encrypted/i.test(text) ? 'It has a passphrase.' : `${trimTrailing(text.slice(0, 100), /[.\s]/)}.`;
