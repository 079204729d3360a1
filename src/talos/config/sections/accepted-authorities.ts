import { toBase64 } from '../../secrets/pem.ts';
import type { ConfigDocument } from '../config-document.ts';

/** `acceptedCAs` of the sections `machine` and `cluster`: authorities that are trusted and issue nothing. */
export const buildAcceptedAuthorities = (certificates: readonly string[] = []): ConfigDocument =>
  certificates.length > 0 ? { acceptedCAs: certificates.map((certificate) => ({ crt: toBase64(certificate) })) } : {};
