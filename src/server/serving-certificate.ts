import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

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
export async function loadServingCertificate(
  files: CertificateFiles,
  now: Date,
): Promise<{ cert: string; key: string }> {
  if (!files.path) {
    // Who starts with files of its own does not wait for all that makes certificates to be read.
    const { createSelfSignedCertificate: selfSigned } = await import('./self-signed-certificate.ts');
    return await selfSigned(now);
  }
  const [cert, key] = await Promise.all([
    readFile(join(files.path, files.certName ?? 'tls.crt'), 'utf8'),
    readFile(join(files.path, files.keyName ?? 'tls.key'), 'utf8'),
  ]);
  return { cert, key };
}
