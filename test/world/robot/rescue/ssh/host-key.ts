import { createHash } from 'node:crypto';
import { makeSshKey } from '../../setup/ssh-key.ts';

/** The host key of a system, and its name in `ssh-keygen -l`. */
export interface HostKey {
  /** OpenSSH's private format. */
  readonly secret: string;
  /** `SHA256:…` */
  readonly fingerprint: string;
}

/** A new one, as sshd generates at its first start. */
export function makeHostKey(): HostKey {
  const { private: secret, public: line } = makeSshKey();
  return { secret, fingerprint: fingerprintOf(publicKeyBlob(line) ?? Buffer.alloc(0)) };
}

/** The blob of an OpenSSH public key line, or undefined for an invalid one. */
export function publicKeyBlob(line: string): Buffer | undefined {
  const [, blob] = /(?:^|\s)(?:ssh-(?:ed25519|rsa)|ecdsa-sha2-nistp\d+)\s+([A-Za-z0-9+/=]+)/.exec(line) ?? [];
  return blob === undefined ? undefined : Buffer.from(blob, 'base64');
}

const fingerprintOf = (blob: Buffer): string =>
  `SHA256:${createHash('sha256').update(blob).digest('base64').replace(/=+$/, '')}`;
