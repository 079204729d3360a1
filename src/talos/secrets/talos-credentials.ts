import type { Clock } from '../../lib/clock.ts';
import type { KeyPair } from './certificates.ts';
import { type SecretsBundle, trustedCertificates } from './secrets-bundle.ts';
import { issueTalosClientCertificate } from './talosconfig.ts';

/** Lifetime of the provider's own client certificates. */
export const clientCertificateLifetimeSeconds = 24 * 60 * 60;

/**
 * Whether a certificate can still be used: for half of its lifetime, and not after the clock was set back by more than
 * that, since the certificate would begin in the future. Times are milliseconds since 1970.
 */
export const isCertificateFresh = (issuedAt: number, now: number): boolean =>
  Math.abs(now - issuedAt) < (clientCertificateLifetimeSeconds * 1000) / 2;

/** The credentials that authenticate the provider to the nodes of a cluster, and the nodes to the provider. */
export interface TalosCredentials {
  /** The OS CA, PEM. Two certificates while it is rotated. */
  readonly ca: string;
  /** The same pair for half of its lifetime, then a new one. */
  client(): Promise<KeyPair>;
}

/**
 * Credentials from a bundle; keeps only the parts of the bundle that they need. Create one object for each cluster:
 * every issued certificate requires a new connection.
 */
export function createTalosCredentials(bundle: SecretsBundle, clock: Clock): TalosCredentials {
  const { os } = bundle.authorities;
  const ca = trustedCertificates(bundle, 'os');
  let current: { readonly pair: Promise<KeyPair>; readonly issuedAt: number } | undefined;
  return {
    ca,
    client() {
      const now = clock.now().getTime();
      if (current === undefined || !isCertificateFresh(current.issuedAt, now)) {
        const pair = issueTalosClientCertificate(
          { authorities: { os } },
          { now: clock.now(), lifetimeSeconds: clientCertificateLifetimeSeconds },
        );
        current = { pair, issuedAt: now };
        pair.catch(() => {
          current = undefined;
        });
      }
      return current.pair;
    },
  };
}
