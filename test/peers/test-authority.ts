import 'reflect-metadata';
import { createPrivateKey, randomBytes, webcrypto } from 'node:crypto';
import {
  AuthorityKeyIdentifierExtension,
  BasicConstraintsExtension,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  type Extension,
  KeyUsageFlags,
  KeyUsagesExtension,
  PemConverter,
  SubjectAlternativeNameExtension,
  SubjectKeyIdentifierExtension,
  X509Certificate,
  X509CertificateGenerator,
} from '@peculiar/x509';

/** A certificate and its private key, both PEM. */
export interface PemKeyPair {
  readonly cert: string;
  readonly key: string;
}

/** A throw-away certificate authority for programs that the tests start. */
export interface TestAuthority {
  /** PEM. */
  readonly ca: string;
  /** A serving certificate for addresses and names. */
  serving(addresses: readonly string[], names: readonly string[]): Promise<PemKeyPair>;
  /**
   * A client certificate: Kubernetes reads the common name as the user and the organizations as its groups. `uris`: its
   * subject alternative names.
   */
  client(user: string, groups: readonly string[], uris?: readonly string[]): Promise<PemKeyPair>;
}

const curve = { name: 'ECDSA', namedCurve: 'P-256' } as const;
const signing = { name: 'ECDSA', hash: 'SHA-256' } as const;
const hour = 3_600_000;

type DistinguishedName = Record<string, string[]>[];

async function keyPem(key: webcrypto.CryptoKey): Promise<string> {
  return PemConverter.encode(await webcrypto.subtle.exportKey('pkcs8', key), 'PRIVATE KEY');
}

const validity = () => ({ notBefore: new Date(Date.now() - hour), notAfter: new Date(Date.now() + 48 * hour) });

/** Creates a certificate authority that is valid for two days. */
export async function createTestAuthority(commonName: string): Promise<TestAuthority> {
  const keys = await webcrypto.subtle.generateKey(curve, true, ['sign', 'verify']);
  const name: DistinguishedName = [{ CN: [commonName] }];
  const certificate = await X509CertificateGenerator.create({
    serialNumber: serialNumber(),
    subject: name,
    issuer: name,
    ...validity(),
    signingAlgorithm: signing,
    publicKey: keys.publicKey,
    signingKey: keys.privateKey,
    extensions: [
      new BasicConstraintsExtension(true, undefined, true),
      new KeyUsagesExtension(KeyUsageFlags.keyCertSign | KeyUsageFlags.digitalSignature, true),
      await SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  });
  return authorityOf(certificate, keys.privateKey);
}

/** An existing certificate authority from its certificate and key (ECDSA P-256), both PEM. */
export async function loadTestAuthority(ca: string, key: string): Promise<TestAuthority> {
  const pkcs8 = createPrivateKey(key).export({ format: 'der', type: 'pkcs8' });
  const signingKey = await webcrypto.subtle.importKey('pkcs8', pkcs8, curve, false, ['sign']);
  return authorityOf(new X509Certificate(ca), signingKey);
}

function authorityOf(authority: X509Certificate, signingKey: webcrypto.CryptoKey): TestAuthority {
  const issue = async (
    subject: DistinguishedName,
    usage: ExtendedKeyUsage,
    extensions: Extension[],
  ): Promise<PemKeyPair> => {
    const own = await webcrypto.subtle.generateKey(curve, true, ['sign', 'verify']);
    const leaf = await X509CertificateGenerator.create({
      serialNumber: serialNumber(),
      subject,
      issuer: authority.subjectName,
      ...validity(),
      signingAlgorithm: signing,
      publicKey: own.publicKey,
      signingKey,
      extensions: [
        new BasicConstraintsExtension(false),
        new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true),
        new ExtendedKeyUsageExtension([usage]),
        await AuthorityKeyIdentifierExtension.create(authority.publicKey),
        ...extensions,
      ],
    });
    return { cert: leaf.toString('pem'), key: await keyPem(own.privateKey) };
  };

  return {
    ca: authority.toString('pem'),
    serving: (addresses, names) =>
      issue([{ CN: [names[0] ?? addresses[0] ?? 'server'] }], ExtendedKeyUsage.serverAuth, [
        new SubjectAlternativeNameExtension([
          ...addresses.map((value) => ({ type: 'ip' as const, value })),
          ...names.map((value) => ({ type: 'dns' as const, value })),
        ]),
      ]),
    client: (user, groups, uris = []) =>
      issue(
        [...groups.map((group) => ({ O: [group] })), { CN: [user] }],
        ExtendedKeyUsage.clientAuth,
        uris.length === 0
          ? []
          : [new SubjectAlternativeNameExtension(uris.map((value) => ({ type: 'url' as const, value })))],
      ),
  };
}

/** Positive and unique. */
function serialNumber(): string {
  return `01${randomBytes(15).toString('hex')}`;
}
