import { X509Certificate } from 'node:crypto';
import { isStrictDer } from './strict-der.ts';

/** Characters of a bundle, and certificates in it. */
const maxBundleLength = 65_536;
const maxCertificates = 64;

const pemBegin = '-----BEGIN CERTIFICATE-----';
const pemEnd = '-----END CERTIFICATE-----';
const base64Line = /^[A-Za-z0-9+/]+={0,2}$/;
const namedCurves = ['prime256v1', 'secp384r1', 'secp521r1'];

/**
 * Why kube-apiserver could not read a bundle of authorities, as sentences; undefined when it can. It takes nothing less than
 * strict DER (`crypto/x509` of Go), and does not start with a bundle of which one certificate is damaged.
 */
export function findCaBundleProblem(bundle: string): string | undefined {
  if (bundle.length > maxBundleLength)
    return `It is longer than ${maxBundleLength} characters. Take out what is not needed.`;
  const found = parseCertificates(bundle);
  if (found === 'foreign') return 'It holds more than certificates. Take the rest out.';
  if (found.length > maxCertificates)
    return `It holds more than ${maxCertificates} certificates. Take out what is not needed.`;
  if (found.length === 0 || !found.every(isReadableCertificate))
    return 'It holds no certificate in PEM form, or one that is damaged. Put in what the issuer’s certificate is signed by.';
  return undefined;
}

/** What is no certificate: it is never readable. */
const unreadable = Buffer.alloc(0);

/** The DER of each block. Words between the blocks are comments. */
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
    // A root that does not bear its own signature was damaged since.
    return isKnown && (certificate.subject !== certificate.issuer || certificate.verify(certificate.publicKey));
  } catch {
    // What the reader has against it is of no use to people.
    return false;
  }
}
