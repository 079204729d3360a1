import 'reflect-metadata';
import { createHash } from 'node:crypto';
import { isIP } from 'node:net';
import * as x509 from '@peculiar/x509';

/** A CA and a serving certificate for one host, as PEM. */
export interface ServingCertificate {
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
  /** SHA-256 of the DER certificate. */
  readonly hash: Buffer;
}

const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
const day = 24 * 60 * 60 * 1000;

/** A self-signed CA and its certificate for `host`: the address or name, and localhost. */
export async function issueServingCertificate(host: string, authority: string): Promise<ServingCertificate> {
  const { subtle } = globalThis.crypto;
  const validity = { notBefore: new Date(Date.now() - day), notAfter: new Date(Date.now() + 3650 * day) };
  const caKeys = await subtle.generateKey(algorithm, true, ['sign', 'verify']);
  const ca = await x509.X509CertificateGenerator.createSelfSigned({
    serialNumber: '01',
    name: `CN=${authority}`,
    ...validity,
    signingAlgorithm: algorithm,
    keys: caKeys,
    extensions: [
      new x509.BasicConstraintsExtension(true, 0, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign, true),
      await x509.SubjectKeyIdentifierExtension.create(caKeys.publicKey),
    ],
  });
  const keys = await subtle.generateKey(algorithm, true, ['sign', 'verify']);
  const cert = await x509.X509CertificateGenerator.create({
    serialNumber: '02',
    subject: `CN=${host}`,
    issuer: ca.subject,
    ...validity,
    signingAlgorithm: algorithm,
    publicKey: keys.publicKey,
    signingKey: caKeys.privateKey,
    extensions: [
      new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth]),
      new x509.SubjectAlternativeNameExtension([
        { type: isIP(host) ? 'ip' : 'dns', value: host },
        { type: 'dns', value: 'localhost' },
      ]),
      // RFC 5280 4.2.1.1: strict verifiers refuse a certificate that does not name the key of its issuer.
      await x509.AuthorityKeyIdentifierExtension.create(caKeys.publicKey),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  });
  const pkcs8 = await subtle.exportKey('pkcs8', keys.privateKey);
  return {
    ca: ca.toString('pem'),
    cert: cert.toString('pem'),
    key: x509.PemConverter.encode(pkcs8, 'PRIVATE KEY'),
    hash: createHash('sha256').update(Buffer.from(cert.rawData)).digest(),
  };
}
