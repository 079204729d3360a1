import { createHash, X509Certificate } from 'node:crypto';
import { createKubeAuthority } from '../../kube/auth/certificates.ts';

/** A CA and a serving certificate for one host, as PEM. */
export interface ServingCertificate {
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
  /** SHA-256 of the DER certificate. */
  readonly hash: Buffer;
}

/** A self-signed CA and its certificate for `host`: the address or name, and localhost. */
export async function issueServingCertificate(host: string, authority: string): Promise<ServingCertificate> {
  const { cert: ca, issueServer } = await createKubeAuthority(authority);
  const { cert, key } = await issueServer([host, 'localhost']);
  return { ca, cert, key, hash: createHash('sha256').update(new X509Certificate(cert).raw).digest() };
}
