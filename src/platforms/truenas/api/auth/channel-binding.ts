import { createHash } from 'node:crypto';

/**
 * The channel binding `tls-server-end-point` of a certificate in DER (RFC 5929, 4.1): its hash, by the hash function of
 * its signature, or by SHA-256 where that is MD5 or SHA-1. Undefined where no binding is defined, as for Ed25519.
 */
export function tlsServerEndPoint(certificate: Buffer): Buffer | undefined {
  const name = signatureHashOf(certificate);
  return name === undefined ? undefined : createHash(name).update(certificate).digest();
}

/** The last OID bytes below `1.2.840.113549.1.1` (RSA, PKCS #1) and `1.2.840.10045.4` (ECDSA), in DER. */
const hashBySignatureOid: Readonly<Record<string, string>> = {
  '2a864886f70d010104': 'sha256',
  '2a864886f70d010105': 'sha256',
  '2a864886f70d01010b': 'sha256',
  '2a864886f70d01010c': 'sha384',
  '2a864886f70d01010d': 'sha512',
  '2a8648ce3d0401': 'sha256',
  '2a8648ce3d040302': 'sha256',
  '2a8648ce3d040303': 'sha384',
  '2a8648ce3d040304': 'sha512',
};
/** The parameters of RSASSA-PSS name its hash: `2.16.840.1.101.3.4.2`, or SHA-1 by default (RFC 4055, 3.1). */
const rsassaPssOid = '2a864886f70d01010a';
const hashByOid: Readonly<Record<string, string>> = {
  '608648016503040201': 'sha256',
  '608648016503040202': 'sha384',
  '608648016503040203': 'sha512',
  '2b0e03021a': 'sha256',
};

/** Certificate ::= SEQUENCE { tbsCertificate, signatureAlgorithm SEQUENCE { OID, parameters }, signature } */
function signatureHashOf(certificate: Buffer): string | undefined {
  const algorithm = parseDerElements(parseDerElements(certificate)[0]?.value)[1]?.value;
  const [id, parameters] = parseDerElements(algorithm);
  const signature = id?.value.toString('hex') ?? '';
  if (signature !== rsassaPssOid) return hashBySignatureOid[signature];
  const explicit = parseDerElements(parameters?.value).find(({ tag }) => tag === 0xa0);
  if (!explicit) return 'sha256';
  const [hash] = parseDerElements(parseDerElements(explicit.value)[0]?.value);
  return hashByOid[hash?.value.toString('hex') ?? ''];
}

interface DerElement {
  readonly tag: number;
  readonly value: Buffer;
}

/** Splits `bytes` into DER elements; a truncated element is dropped. */
function parseDerElements(bytes: Buffer = Buffer.alloc(0)): DerElement[] {
  const parts: DerElement[] = [];
  for (let at = 0; at + 2 <= bytes.length; ) {
    const first = bytes.readUInt8(at + 1);
    // A first byte of 128 and above gives the number of length bytes.
    const more = first < 0x80 ? 0 : first & 0x7f;
    const start = at + 2 + more;
    if (first === 0x80 || more > 4 || start > bytes.length) break;
    const length = more === 0 ? first : bytes.readUIntBE(at + 2, more);
    if (start + length > bytes.length) break;
    parts.push({ tag: bytes.readUInt8(at), value: bytes.subarray(start, start + length) });
    at = start + length;
  }
  return parts;
}
