import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import { SecretString } from '../../lib/secret-string.ts';

/**
 * Talos' own label for Ed25519 keys (siderolabs/crypto `x509/constants.go`); the body is PKCS#8. OpenSSL rejects it.
 */
const ed25519Label = 'ED25519 PRIVATE KEY';

/**
 * A PEM private key in a form that Node can load: Talos' Ed25519 label becomes the standard `PRIVATE KEY`, and
 * everything else is unchanged.
 */
export function toLoadableKey(key: SecretString): SecretString {
  return new SecretString(key.reveal().replaceAll(ed25519Label, 'PRIVATE KEY'));
}

/** Parses a private key. Throws the error of OpenSSL for an invalid text. */
export function parsePrivateKey(key: SecretString): KeyObject {
  return createPrivateKey(toLoadableKey(key).reveal());
}

/** PEM with the labels that Talos uses: SEC1 for ECDSA, PKCS#1 for RSA, PKCS#8 with its own label for Ed25519. */
export function formatPrivateKey(key: KeyObject): SecretString {
  if (key.asymmetricKeyType === 'ec') return new SecretString(String(key.export({ format: 'pem', type: 'sec1' })));
  if (key.asymmetricKeyType === 'rsa') return new SecretString(String(key.export({ format: 'pem', type: 'pkcs1' })));
  const text = String(key.export({ format: 'pem', type: 'pkcs8' }));
  return new SecretString(text.replaceAll('PRIVATE KEY', ed25519Label));
}

/** Base64 of a whole PEM text: the form of certificates and keys in bundles, configurations and talosconfigs. */
export const toBase64 = (text: string): string => Buffer.from(text, 'utf8').toString('base64');

/** Decodes {@link toBase64}. Returns undefined for an invalid text. */
export function fromBase64(text: string): string | undefined {
  const compact = text.replace(/\s+/g, '');
  const bytes = Buffer.from(compact, 'base64');
  return bytes.length > 0 && bytes.toString('base64') === compact ? bytes.toString('utf8') : undefined;
}

/** The certificates of a bundle in PEM form, each on its own. */
export const splitCertificates = (bundle: string): string[] =>
  bundle.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----\n?/g) ?? [];

/** Whether the key belongs to the certificate. False for texts that are none. */
export function isMatchingPair({
  certificate,
  key,
}: {
  readonly certificate: string;
  readonly key: SecretString;
}): boolean {
  try {
    return new X509Certificate(certificate).checkPrivateKey(parsePrivateKey(key));
  } catch {
    return false;
  }
}
