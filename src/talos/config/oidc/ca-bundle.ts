import { X509Certificate } from 'node:crypto';
import { isStrictDer } from './strict-der.ts';

/** Maximum number of characters and of certificates in a bundle. */
const maxBundleLength = 65_536;
const maxCertificates = 64;

const pemBegin = '-----BEGIN CERTIFICATE-----';
const pemEnd = '-----END CERTIFICATE-----';
const base64Line = /^[A-Za-z0-9+/]+={0,2}$/;
const namedCurves = ['prime256v1', 'secp384r1', 'secp521r1'];

/**
 * Explains, as a sentence, why kube-apiserver cannot read a CA bundle; undefined for a valid bundle. kube-apiserver
 * requires strict DER (`crypto/x509` of Go), and does not start when one certificate of the bundle is damaged.
 */
export function findCaBundleProblem(bundle: string): string | undefined {
  if (bundle.length > maxBundleLength)
    return `It is longer than ${maxBundleLength} characters. Remove unneeded certificates.`;
  const found = parseCertificates(bundle);
  if (found === 'foreign') return 'It contains data other than certificates. Remove that data.';
  if (found.length > maxCertificates)
    return `It contains more than ${maxCertificates} certificates. Remove unneeded certificates.`;
  if (found.length === 0 || !found.every(isReadableCertificate))
    return 'It contains no valid certificate in PEM format. Use the certificates of the CA.';
  return undefined;
}

/** The placeholder for an invalid block: it never parses as a certificate. */
const unreadable = Buffer.alloc(0);

/** The DER of each block. Text between the blocks is a comment. */
function parseCertificates(bundle: string): Buffer[] | 'foreign' {
  const found: Buffer[] = [];
  let open: string[] | undefined;
  for (const line of bundle.split('\n').map((one) => one.trimEnd())) {
    if (open && line === pemEnd) found.push(decodeBlock(open));
    else if (open) {
      open.push(line);
      continue;
    } else if (isOtherPemBlock(line)) return 'foreign';
    else if (line !== pemBegin && line.includes('-----')) found.push(unreadable);
    open = line === pemBegin ? [] : undefined;
  }
  return open === undefined ? found : [...found, unreadable];
}

const isOtherPemBlock = (line: string): boolean =>
  line.includes('-----BEGIN ') && !line.includes('-----BEGIN CERTIFICATE-----');

function decodeBlock(lines: readonly string[]): Buffer {
  const text = lines.join('');
  return base64Line.test(text) && text.length % 4 === 0 ? Buffer.from(text, 'base64') : unreadable;
}

function isReadableCertificate(der: Buffer): boolean {
  if (!isStrictDer(der)) return false;
  try {
    const certificate = new X509Certificate(der);
    const { asymmetricKeyType: kind, asymmetricKeyDetails: details } = certificate.publicKey;
    const isKnown =
      kind === 'rsa' || kind === 'ed25519' || (kind === 'ec' && namedCurves.includes(details?.namedCurve ?? ''));
    // A root without a valid self-signature is damaged.
    return isKnown && (certificate.subject !== certificate.issuer || certificate.verify(certificate.publicKey));
  } catch {
    // The parser's message does not help users.
    return false;
  }
}
