import type { Clock } from '../lib/clock.ts';
import type { KeyPair } from './certificates.ts';
import type { SecretsBundle } from './secrets.ts';
import { issueTalosClient } from './talosconfig.ts';

const lifetimeSeconds = 24 * 60 * 60;

/** What proves to the nodes of a cluster that we may administer them, and to us that they are its nodes. */
export interface TalosCredentials {
  /** The OS CA, PEM. */
  readonly ca: string;
  /** The same pair until half of its day is over, then a new one. */
  client(): Promise<KeyPair>;
}

/** Credentials out of a bundle. Make them once for each cluster: every issue makes a new connection necessary. */
export function createTalosCredentials(bundle: SecretsBundle, clock: Clock): TalosCredentials {
  let current: { readonly pair: Promise<KeyPair>; readonly renewAt: number } | undefined;
  return {
    ca: bundle.authorities.os.certificate,
    client() {
      const now = clock.now().getTime();
      const early = current === undefined || now >= current.renewAt || current.renewAt - now > lifetimeSeconds * 1000;
      if (current === undefined || early) {
        const pair = issueTalosClient(bundle, { now: clock.now(), lifetimeSeconds });
        current = { pair, renewAt: now + (lifetimeSeconds * 1000) / 2 };
        pair.catch(() => {
          current = undefined;
        });
      }
      return current.pair;
    },
  };
}
