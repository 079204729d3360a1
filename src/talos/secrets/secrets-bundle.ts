import { generateKeyPair, randomBytes, randomInt } from 'node:crypto';
import { promisify } from 'node:util';
import { SecretString } from '../../lib/secret-string.ts';
import { isAtLeastMinor } from '../versions.ts';
import { createCertificateAuthority, type KeyKind, type KeyPair } from './certificates.ts';
import { formatPrivateKey } from './pem.ts';

/**
 * The secrets of a cluster. Their holder administers the cluster; without them the cluster cannot be administered any
 * more. The bundle is stored before anything is derived from it. Only a rotation of its authorities changes it.
 */
export interface SecretsBundle {
  readonly cluster: {
    /** Opaque; its encoding changed with Talos 1.14. */
    readonly id: string;
    /** Base64 of 32 bytes: encrypts the data that nodes publish at the discovery service. */
    readonly secret: SecretString;
  };
  /** `abcdef.0123456789abcdef`: kubelets join with it. */
  readonly bootstrapToken: SecretString;
  /** The key that encrypts etcd data. Bundles from before Talos 1.3 hold an AES key instead. */
  readonly etcdEncryption: { readonly kind: 'secretbox' | 'aescbc'; readonly key: SecretString };
  /** `abcdef.0123456789abcdef`: machines join with it. */
  readonly machineToken: SecretString;
  readonly authorities: {
    readonly etcd: KeyPair;
    readonly kubernetes: KeyPair;
    readonly aggregator: KeyPair;
    readonly os: KeyPair;
  };
  /** Certificates (PEM) that are accepted besides those of the authorities, while one of these is rotated. */
  readonly accepted?: { readonly [A in RotatableAuthority]?: readonly string[] };
  /** PEM. Signs the tokens of service accounts. */
  readonly serviceAccountKey: SecretString;
}

/** The authorities that Talos can replace on running nodes. */
export type RotatableAuthority = 'os' | 'kubernetes';

/** The certificates (PEM) of everything that an authority, or the one that it replaces, has issued. */
export const trustedCertificates = (
  { authorities, accepted }: Pick<SecretsBundle, 'accepted'> & { readonly authorities: CertificatesOf },
  authority: RotatableAuthority,
): string => {
  const { certificate } = authorities[authority];
  const others = accepted?.[authority] ?? [];
  // A bundle of other origin may have no newline at the end.
  return others.length === 0 ? certificate : [certificate, ...others].map((pem) => `${pem.trimEnd()}\n`).join('');
};

type CertificatesOf = { readonly [A in RotatableAuthority]: Pick<KeyPair, 'certificate'> };

/**
 * Certificates are valid from a day before their creation: a machine whose hardware clock runs in local time is up to
 * 14 hours off until it has queried a time server, and its Talos API starts before that.
 */
export const certificateBackdateSeconds = 24 * 60 * 60;

const tenYearsSeconds = 87_600 * 60 * 60;

/** Creates the secrets of a new cluster, with the key kinds, subjects and lifetimes of Talos' own generator. */
export async function createSecretsBundle(options: {
  now: Date;
  talosVersion?: string;
  /**
   * Default: 3072, as strong as the P-256 keys of the authorities (NIST SP 800-57). The 4096 of `talosctl gen secrets`
   * take three times as long to generate, and kubeadm uses 2048.
   */
  serviceAccountKeyBits?: number;
}): Promise<SecretsBundle> {
  const { now } = options;
  const [etcd, kubernetes, aggregator, os, serviceAccount] = await Promise.all([
    createAuthority('etcd', now),
    createAuthority('kubernetes', now),
    createAuthority('aggregator', now),
    createAuthority('os', now),
    promisify(generateKeyPair)('rsa', { modulusLength: options.serviceAccountKeyBits ?? 3072 }),
  ]);
  const random = (encoding: 'base64' | 'base64url') => randomBytes(32).toString(encoding);
  return {
    cluster: {
      id:
        options.talosVersion && isAtLeastMinor(options.talosVersion, '1.14')
          ? random('base64')
          : `${random('base64url')}=`,
      secret: new SecretString(random('base64')),
    },
    bootstrapToken: newToken(),
    etcdEncryption: { kind: 'secretbox', key: new SecretString(random('base64')) },
    machineToken: newToken(),
    authorities: { etcd, kubernetes, aggregator, os },
    serviceAccountKey: formatPrivateKey(serviceAccount.privateKey),
  };
}

const authorityKinds: Readonly<Record<keyof SecretsBundle['authorities'], readonly [KeyKind, string]>> = {
  etcd: ['ecdsa-p256', 'etcd'],
  kubernetes: ['ecdsa-p256', 'kubernetes'],
  aggregator: ['ecdsa-p256', ''],
  os: ['ed25519', 'talos'],
};

/** Creates one authority of a cluster. */
export function createAuthority(authority: keyof SecretsBundle['authorities'], now: Date): Promise<KeyPair> {
  const [keyKind, organization] = authorityKinds[authority];
  return createCertificateAuthority({
    keyKind,
    organization,
    notBefore: new Date(now.getTime() - certificateBackdateSeconds * 1000),
    notAfter: new Date(now.getTime() + tenYearsSeconds * 1000),
  });
}

const tokenAlphabet = '0123456789abcdefghijklmnopqrstuvwxyz';

/** A token in the form of kubeadm: a public id of six characters and a secret of sixteen. */
function newToken(): SecretString {
  const characters = (count: number) =>
    Array.from({ length: count }, () => tokenAlphabet[randomInt(tokenAlphabet.length)]).join('');
  return new SecretString(`${characters(6)}.${characters(16)}`);
}
