import type { Clock } from '../../lib/clock.ts';
import type { KeyPair } from './certificates.ts';
import { issueAdminCertificate } from './kubernetes-client-certificate.ts';
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

/** The credentials that authenticate the provider to the servers of a cluster, and these to the provider. */
export interface ClientCredentials {
  /** The CA of the servers, PEM. Two certificates while it is rotated. */
  readonly ca: string;
  /** The same promise of the same pair for half of its lifetime, then a new one. */
  client(): Promise<KeyPair>;
}

/** Those for the nodes of a cluster. */
export type TalosCredentials = ClientCredentials;

/**
 * Credentials for the Talos API. Create one object for each cluster: a key and a signature cost more than a call, and every
 * issued certificate requires a new connection.
 */
export function createTalosCredentials(bundle: SecretsBundle, clock: Clock): TalosCredentials {
  // Only what is needed of the bundle is kept.
  const { os } = bundle.authorities;
  return createCredentials(trustedCertificates(bundle, 'os'), clock, (options) =>
    issueTalosClientCertificate({ authorities: { os } }, options),
  );
}

/** The same with administrator rights for the API servers of a cluster. */
export function createAdminCredentials(bundle: SecretsBundle, clock: Clock): ClientCredentials {
  const { kubernetes } = bundle.authorities;
  return createCredentials(trustedCertificates(bundle, 'kubernetes'), clock, (options) =>
    issueAdminCertificate({ authorities: { kubernetes } }, options),
  );
}

function createCredentials(
  ca: string,
  clock: Clock,
  issue: (options: { readonly now: Date; readonly lifetimeSeconds: number }) => Promise<KeyPair>,
): ClientCredentials {
  let current: { readonly pair: Promise<KeyPair>; readonly issuedAt: number } | undefined;
  return {
    ca,
    client() {
      const now = clock.now();
      if (current !== undefined && isCertificateFresh(current.issuedAt, now.getTime())) return current.pair;
      const pair = issue({ now, lifetimeSeconds: clientCertificateLifetimeSeconds });
      current = { pair, issuedAt: now.getTime() };
      pair.catch(() => {
        if (current?.pair === pair) current = undefined;
      });
      return pair;
    },
  };
}
