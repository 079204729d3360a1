import 'reflect-metadata';
import { generateKeyPair, type KeyObject, randomBytes, webcrypto } from 'node:crypto';
import { promisify } from 'node:util';
import * as x509 from '@peculiar/x509';
import type { SecretString } from '../../lib/secret-string.ts';
import { formatPrivateKey, parsePrivateKey } from './pem.ts';

x509.cryptoProvider.set(webcrypto);

/** A certificate and its private key, both PEM. The key has the label that Talos uses for its kind. */
export interface KeyPair {
  readonly certificate: string;
  readonly key: SecretString;
}

/** The key kinds of Talos' PKI: Ed25519 for its own API, ECDSA P-256 for etcd and Kubernetes. */
export type KeyKind = 'ed25519' | 'ecdsa-p256';

export interface CertificateAuthorityRequest {
  /** Empty: an empty subject, as the aggregator's CA has. */
  readonly organization?: string;
  readonly keyKind: KeyKind;
  readonly notBefore: Date;
  readonly notAfter: Date;
}

export interface CertificateRequest {
  readonly commonName?: string;
  /** Roles for the Talos API, groups for Kubernetes. */
  readonly organizations?: readonly string[];
  /** Exactly these extended key usages. apid rejects a client whose list is not `client` alone. */
  readonly usages: readonly ('client' | 'server')[];
  readonly dnsNames?: readonly string[];
  readonly ipAddresses?: readonly string[];
  readonly notBefore: Date;
  readonly notAfter: Date;
  /** Default: Ed25519 for an Ed25519 authority, else ECDSA. */
  readonly keyKind?: KeyKind;
  /** Adds the key usage key encipherment, which the certificates of Kubernetes have. Default: false. */
  readonly keyEncipherment?: boolean;
}

const newKeyPair = promisify(generateKeyPair);
const extendedUsages = { client: x509.ExtendedKeyUsage.clientAuth, server: x509.ExtendedKeyUsage.serverAuth };

/** Creates a self-signed CA as Talos' own generator does (siderolabs/crypto `x509/x509.go`). */
export async function createCertificateAuthority(request: CertificateAuthorityRequest): Promise<KeyPair> {
  const keys = await generateKeys(request.keyKind);
  const subject = toSubject(undefined, request.organization ? [request.organization] : []);
  const certificate = await x509.X509CertificateGenerator.create({
    serialNumber: newSerial(),
    subject,
    issuer: subject,
    notBefore: request.notBefore,
    notAfter: request.notAfter,
    signingAlgorithm: toAlgorithm(keys.privateKey),
    publicKey: await importKey(keys.publicKey),
    signingKey: await importKey(keys.privateKey),
    extensions: [
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature | x509.KeyUsageFlags.keyCertSign, true),
      new x509.ExtendedKeyUsageExtension([extendedUsages.server, extendedUsages.client]),
      new x509.BasicConstraintsExtension(true, undefined, true),
      new x509.SubjectKeyIdentifierExtension(randomBytes(20).toString('hex')),
    ],
  });
  return { certificate: toPem(certificate), key: formatPrivateKey(keys.privateKey) };
}

/** Issues a leaf certificate with a new key. */
export async function issueCertificate(authority: KeyPair, request: CertificateRequest): Promise<KeyPair> {
  const issuerKey = parsePrivateKey(authority.key);
  const keys = await generateKeys(
    request.keyKind ?? (issuerKey.asymmetricKeyType === 'ed25519' ? 'ed25519' : 'ecdsa-p256'),
  );
  const certificate = await signLeaf(authority, issuerKey, keys.publicKey, request);
  return { certificate, key: formatPrivateKey(keys.privateKey) };
}

/**
 * Issues a leaf certificate for a key that the caller holds, e.g. from a signing request. Returns the certificate as
 * PEM.
 */
export async function certifyKey(
  authority: KeyPair,
  publicKey: KeyObject,
  request: Omit<CertificateRequest, 'keyKind'>,
): Promise<string> {
  return signLeaf(authority, parsePrivateKey(authority.key), publicKey, request);
}

async function signLeaf(authority: KeyPair, issuerKey: KeyObject, publicKey: KeyObject, request: CertificateRequest) {
  const issuer = new x509.X509Certificate(authority.certificate);
  const usage =
    x509.KeyUsageFlags.digitalSignature | (request.keyEncipherment ? x509.KeyUsageFlags.keyEncipherment : 0);
  const names = [
    ...(request.dnsNames ?? []).map((value) => ({ type: 'dns' as const, value })),
    ...(request.ipAddresses ?? []).map((value) => ({ type: 'ip' as const, value })),
  ];
  const certificate = await x509.X509CertificateGenerator.create({
    serialNumber: newSerial(),
    subject: toSubject(request.commonName, request.organizations ?? []),
    issuer: issuer.subjectName.toJSON(),
    notBefore: request.notBefore,
    notAfter: request.notAfter,
    signingAlgorithm: toAlgorithm(issuerKey),
    publicKey: await importKey(publicKey),
    signingKey: await importKey(issuerKey),
    extensions: [
      new x509.KeyUsagesExtension(usage, true),
      new x509.ExtendedKeyUsageExtension(request.usages.map((name) => extendedUsages[name])),
      new x509.BasicConstraintsExtension(false, undefined, true),
      ...authorityKeyIdentifier(issuer),
      ...(names.length > 0 ? [new x509.SubjectAlternativeNameExtension(names)] : []),
    ],
  });
  return toPem(certificate);
}

function authorityKeyIdentifier(issuer: x509.X509Certificate): x509.Extension[] {
  const identifier = issuer.getExtension(x509.SubjectKeyIdentifierExtension);
  return identifier ? [new x509.AuthorityKeyIdentifierExtension(identifier.keyId)] : [];
}

function toSubject(commonName: string | undefined, organizations: readonly string[]): x509.JsonName {
  return [
    ...organizations.map((organization) => ({ O: [organization] })),
    ...(commonName === undefined ? [] : [{ CN: [commonName] }]),
  ];
}

function generateKeys(kind: KeyKind): Promise<{ publicKey: KeyObject; privateKey: KeyObject }> {
  return kind === 'ed25519' ? newKeyPair('ed25519') : newKeyPair('ec', { namedCurve: 'P-256' });
}

/** The Web Crypto algorithm of a key. Imported bundles may hold other kinds of CA keys than generated ones. */
function toAlgorithm(key: KeyObject): { name: string; namedCurve?: string; hash?: string } {
  if (key.asymmetricKeyType === 'ed25519') return { name: 'Ed25519' };
  if (key.asymmetricKeyType === 'rsa') return { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' };
  const curves: Record<string, string> = { prime256v1: 'P-256', secp384r1: 'P-384', secp521r1: 'P-521' };
  return { name: 'ECDSA', namedCurve: curves[key.asymmetricKeyDetails?.namedCurve ?? ''] ?? 'P-256', hash: 'SHA-256' };
}

async function importKey(key: KeyObject): Promise<webcrypto.CryptoKey> {
  const algorithm = toAlgorithm(key);
  return key.type === 'private'
    ? webcrypto.subtle.importKey('pkcs8', key.export({ format: 'der', type: 'pkcs8' }), algorithm, true, ['sign'])
    : webcrypto.subtle.importKey('spki', key.export({ format: 'der', type: 'spki' }), algorithm, true, ['verify']);
}

/** 127 random bits: positive, and of constant length. */
function newSerial(): string {
  const bytes = randomBytes(16);
  bytes[0] = ((bytes[0] ?? 0) & 0x7f) | 0x40;
  return bytes.toString('hex');
}

const toPem = (certificate: x509.X509Certificate): string => `${certificate.toString('pem').trim()}\n`;
