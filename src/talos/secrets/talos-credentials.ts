import type { Clock } from '../../lib/clock.ts';
import type { KeyPair } from './certificates.ts';
import type { SecretsBundle } from './secrets-bundle.ts';
import { issueTalosClientCertificate } from './talosconfig.ts';

/** How long a certificate that we issue for ourselves lasts. */
export const clientCertificateLifetimeSeconds = 24 * 60 * 60;

/**
 * Whether a certificate issued then is still to be used: for half of its life, and not when the clock was set back by
 * more than that since, for it would begin in the future. Times are milliseconds since 1970.
 */
export const isCertificateFresh = (issuedAt: number, now: number): boolean =>
  Math.abs(now - issuedAt) < (clientCertificateLifetimeSeconds * 1000) / 2;

/** What proves to the nodes of a cluster that we may administer them, and to us that they are its nodes. */
export interface TalosCredentials {
  /** The OS CA, PEM. */
  readonly ca: string;
  /** The same pair until half of its day is over, then a new one. */
  client(): Promise<KeyPair>;
}

/**
 * Credentials out of a bundle, of which no more is held than they are made from. Make them once for each cluster: every issue makes a
 * new connection necessary.
 */
export function createTalosCredentials({ authorities }: SecretsBundle, clock: Clock): TalosCredentials {
  const { os } = authorities;
  let current: { readonly pair: Promise<KeyPair>; readonly issuedAt: number } | undefined;
  return {
    ca: os.certificate,
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
