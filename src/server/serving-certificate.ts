import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

export interface CertificateFiles {
  /** Folder; absent: a self-signed certificate is created. */
  readonly path?: string;
  /** File in the folder; default `tls.crt`. */
  readonly certName?: string;
  /** File in the folder; default `tls.key`. */
  readonly keyName?: string;
}

/**
 * The serving certificate for metrics, in PEM: from the files that `--metrics-cert-path`, `-name` and `-key` name, or
 * self-signed for a year, as in controller-runtime. Throws when a named file cannot be read.
 */
export async function loadServingCertificate(
  files: CertificateFiles,
  now: Date,
): Promise<{ cert: string; key: string }> {
  if (!files.path) {
    // Loaded on demand: with certificate files the libraries for creating certificates are not needed.
    const { createSelfSignedCertificate: selfSigned } = await import('./self-signed-certificate.ts');
    return await selfSigned(now);
  }
  const [cert, key] = await Promise.all([
    readFile(join(files.path, files.certName ?? 'tls.crt'), 'utf8'),
    readFile(join(files.path, files.keyName ?? 'tls.key'), 'utf8'),
  ]);
  return { cert, key };
}
