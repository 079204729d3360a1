import 'reflect-metadata';
import { randomBytes, webcrypto } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import * as x509 from '@peculiar/x509';

export interface CertificateFiles {
  /** Folder; without it a self-signed certificate is made. */
  readonly path?: string;
  /** File in the folder; default `tls.crt`. */
  readonly certName?: string;
  /** File in the folder; default `tls.key`. */
  readonly keyName?: string;
}

/**
 * The serving certificate for metrics, in PEM: from the files that `--metrics-cert-path`, `-name` and `-key` name, or
 * self-signed for a year, as controller-runtime does it. Throws when a named file cannot be read.
 */
export async function servingCertificate(files: CertificateFiles, now: Date): Promise<{ cert: string; key: string }> {
  if (!files.path) return await selfSigned(now);
  const [cert, key] = await Promise.all([
    readFile(join(files.path, files.certName ?? 'tls.crt'), 'utf8'),
    readFile(join(files.path, files.keyName ?? 'tls.key'), 'utf8'),
  ]);
  return { cert, key };
}

async function selfSigned(now: Date): Promise<{ cert: string; key: string }> {
  x509.cryptoProvider.set(webcrypto);
  const signingAlgorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
  const keys = await webcrypto.subtle.generateKey(signingAlgorithm, true, ['sign', 'verify']);
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    serialNumber: `01${randomBytes(15).toString('hex')}`,
    name: 'CN=localhost',
    notBefore: new Date(now.getTime() - 3_600_000),
    notAfter: new Date(now.getTime() + 365 * 86_400_000),
    signingAlgorithm,
    keys,
    extensions: [
      new x509.SubjectAlternativeNameExtension([
        { type: 'dns', value: 'localhost' },
        { type: 'ip', value: '127.0.0.1' },
      ]),
      new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth]),
    ],
  });
  const key = Buffer.from(await webcrypto.subtle.exportKey('pkcs8', keys.privateKey)).toString('base64');
  return { cert: certificate.toString('pem'), key: `-----BEGIN PRIVATE KEY-----\n${key}\n-----END PRIVATE KEY-----\n` };
}
