import 'reflect-metadata';
import { createHash, createPrivateKey, randomBytes, webcrypto, X509Certificate } from 'node:crypto';
import * as x509 from '@peculiar/x509';

type CryptoKey = webcrypto.CryptoKey;
type CryptoKeyPair = webcrypto.CryptoKeyPair;

x509.cryptoProvider.set(webcrypto as never);

const ed25519 = { name: 'Ed25519' };
const p256 = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };

export const serverAuth = '1.3.6.1.5.5.7.3.1';
export const clientAuth = '1.3.6.1.5.5.7.3.2';

/** A certificate authority with its certificate and its key. */
export interface TalosAuthority {
  readonly certificate: x509.X509Certificate;
  readonly pem: string;
  readonly key: CryptoKey;
  readonly algorithm: typeof ed25519 | typeof p256;
}

export interface LeafCertificate {
  readonly cert: string;
  readonly key: string;
}

/** The contents of a leaf certificate. */
export interface LeafOptions {
  readonly commonName?: string;
  readonly organizations?: readonly string[];
  readonly usages: readonly string[];
  readonly names?: readonly string[];
  readonly addresses?: readonly string[];
  readonly hours: number;
}

/**
 * Reads a pair from a machine configuration: base64 of PEM, or PEM itself. Throws a sentence with the error. Talos
 * labels Ed25519 keys `ED25519 PRIVATE KEY`, which OpenSSL does not know (crypto: x509/constants.go).
 */
export async function openAuthority(crt: string, key: string): Promise<TalosAuthority> {
  const pem = decodePem(crt);
  const certificate = new x509.X509Certificate(pem);
  const node = createPrivateKey(decodePem(key).replaceAll('ED25519 PRIVATE KEY', 'PRIVATE KEY'));
  // The error message of crypto/tls for a pair that does not match.
  if (!new X509Certificate(pem).checkPrivateKey(node)) throw new Error('tls: private key does not match public key');
  const algorithm = node.asymmetricKeyType === 'ed25519' ? ed25519 : p256;
  const der = node.export({ format: 'der', type: 'pkcs8' });
  const imported = await webcrypto.subtle.importKey('pkcs8', der, algorithm, true, ['sign']);
  return { certificate, pem, key: imported as CryptoKey, algorithm };
}

/** A new self-signed authority, e.g. for the maintenance service. */
export async function createSelfSignedAuthority(
  subject: string,
  kind: 'ed25519' | 'p256' = 'ed25519',
): Promise<TalosAuthority> {
  const algorithm = kind === 'ed25519' ? ed25519 : p256;
  const keys = (await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify'])) as CryptoKeyPair;
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    serialNumber: serial(),
    name: subject,
    notBefore: new Date(Date.now() - 60_000),
    notAfter: new Date(Date.now() + 87_600 * 3_600_000),
    keys,
    signingAlgorithm: algorithm,
    extensions: [
      new x509.BasicConstraintsExtension(true, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature | x509.KeyUsageFlags.keyCertSign, true),
      new x509.ExtendedKeyUsageExtension([serverAuth, clientAuth]),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  });
  return { certificate, pem: `${certificate.toString('pem')}\n`, key: keys.privateKey, algorithm };
}

/** Issues a leaf certificate with a new key of the authority's key type. */
export async function issueLeaf(authority: TalosAuthority, options: LeafOptions): Promise<LeafCertificate> {
  const keys = (await webcrypto.subtle.generateKey(authority.algorithm, true, ['sign', 'verify'])) as CryptoKeyPair;
  const cert = await sign(authority, keys.publicKey, options);
  const der = Buffer.from(await webcrypto.subtle.exportKey('pkcs8', keys.privateKey));
  const node = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' });
  return { cert, key: node.export({ format: 'pem', type: 'pkcs8' }).toString() };
}

/** A new Ed25519 key and a request for a server certificate, as a worker sends it to trustd. */
export async function createCertificateRequest(options: Pick<LeafOptions, 'commonName' | 'names' | 'addresses'>) {
  const keys = (await webcrypto.subtle.generateKey(ed25519, true, ['sign', 'verify'])) as CryptoKeyPair;
  const request = await x509.Pkcs10CertificateRequestGenerator.create({
    name: `CN=${options.commonName ?? ''}`,
    keys,
    signingAlgorithm: ed25519,
    extensions: [alternativeNames(options)],
  });
  const key = createPrivateKey({
    key: Buffer.from(await webcrypto.subtle.exportKey('pkcs8', keys.privateKey)),
    format: 'der',
    type: 'pkcs8',
  });
  return { csr: request.toString('pem'), key: key.export({ format: 'pem', type: 'pkcs8' }).toString() };
}

/**
 * The certificate that trustd issues for a request: a server certificate for the same names, never a client
 * certificate.
 */
export async function signCertificateRequest(authority: TalosAuthority, csr: string): Promise<string> {
  const request = new x509.Pkcs10CertificateRequest(csr);
  if (!(await request.verify())) throw new Error('the signature of the request does not verify');
  const names =
    (request.getExtension('2.5.29.17') as x509.SubjectAlternativeNameExtension | null)?.names.toJSON() ?? [];
  return sign(authority, await request.publicKey.export(), {
    commonName: request.subjectName.getField('CN')[0] ?? '',
    usages: [serverAuth],
    names: names.filter((name) => name.type === 'dns').map((name) => name.value),
    addresses: names.filter((name) => name.type === 'ip').map((name) => name.value),
    hours: 24,
  });
}

async function sign(authority: TalosAuthority, publicKey: CryptoKey, options: LeafOptions): Promise<string> {
  const certificate = await x509.X509CertificateGenerator.create({
    serialNumber: serial(),
    subject: subject(options),
    issuer: authority.certificate.subjectName,
    notBefore: new Date(Date.now() - 10_000),
    notAfter: new Date(Date.now() + options.hours * 3_600_000),
    publicKey,
    signingKey: authority.key,
    signingAlgorithm: authority.algorithm,
    extensions: [
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
      new x509.ExtendedKeyUsageExtension([...options.usages]),
      alternativeNames(options),
      ...authorityKeyIdentifier(authority.certificate),
    ],
  });
  return `${certificate.toString('pem')}\n`;
}

/** Go adds it: without it, OpenSSL cannot tell two authorities with the same subject apart. */
function authorityKeyIdentifier(issuer: x509.X509Certificate): x509.Extension[] {
  const identifier = issuer.getExtension(x509.SubjectKeyIdentifierExtension);
  return identifier ? [new x509.AuthorityKeyIdentifierExtension(identifier.keyId)] : [];
}

function subject(options: LeafOptions): x509.JsonName {
  const parts: x509.JsonName = (options.organizations ?? []).map((organization) => ({ O: [organization] }));
  return options.commonName === undefined ? parts : [...parts, { CN: [options.commonName] }];
}

function alternativeNames(options: Pick<LeafOptions, 'names' | 'addresses'>): x509.SubjectAlternativeNameExtension {
  return new x509.SubjectAlternativeNameExtension([
    ...[...new Set(options.names ?? [])].map((value) => ({ type: 'dns' as const, value })),
    ...[...new Set(options.addresses ?? [])].map((value) => ({ type: 'ip' as const, value })),
  ]);
}

/** Certificates in configurations are base64 of PEM; those of the 1.14 documents are PEM. */
export function decodePem(text: string): string {
  return text.includes('-----BEGIN') ? text : Buffer.from(text, 'base64').toString('utf8');
}

/** SHA-256 of the certificate's bytes, to distinguish authorities. */
export function certificateFingerprint(pem: string): string {
  return createHash('sha256')
    .update(Buffer.from(new x509.X509Certificate(pem).rawData))
    .digest('hex');
}

const serial = (): string => {
  const bytes = randomBytes(16);
  bytes[0] = (bytes[0] ?? 0) & 0x7f;
  return bytes.toString('hex');
};
