import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { SecretString } from '../lib/secret-string.ts';

/** A serving certificate and the authority of the clients, in PEM. */
export interface ServerCertificates {
  readonly cert: string;
  readonly key: SecretString;
  /** Every client certificate that it has signed is accepted. */
  readonly ca: string;
}

/** The file names of a mounted Secret of the type `kubernetes.io/tls` as cert-manager writes it. */
const files = { cert: 'tls.crt', key: 'tls.key', ca: 'ca.crt' } as const;

/** Reads `tls.crt`, `tls.key` and `ca.crt`. Throws an error that names the file and the remedy. */
export async function readCertificateFolder(folder: string): Promise<ServerCertificates> {
  const read = async (name: string): Promise<string> => {
    try {
      return await readFile(join(folder, name), 'utf8');
    } catch (cause) {
      throw new Error(`${join(folder, name)} cannot be read. Mount a Secret with ${name} there.`, { cause });
    }
  };
  // One after the other: Kubernetes replaces the folder as a whole, and a mixture is found by the comparison below.
  const [cert, key, ca] = [await read(files.cert), await read(files.key), await read(files.ca)];
  const own = parse(folder, files.cert, () => new X509Certificate(cert));
  parse(folder, files.ca, () => new X509Certificate(ca));
  if (!own.checkPrivateKey(parse(folder, files.key, () => createPrivateKey(key))))
    throw new Error(`${join(folder, files.key)} is not the key of ${files.cert} in the same folder. Replace both.`);
  return { cert, key: new SecretString(key), ca };
}

function parse<T>(folder: string, name: string, read: () => T): T {
  try {
    return read();
  } catch (cause) {
    throw new Error(`${join(folder, name)} is not valid PEM. Replace it.`, { cause });
  }
}
