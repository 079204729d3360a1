import { createSecureContext } from 'node:tls';
import { LruMap } from '../../lib/lru-map.ts';
import type { KeyPair } from '../secrets/certificates.ts';
import { toLoadableKey } from '../secrets/pem.ts';
import type { TlsSettings } from './connection.ts';

/** A rollout opens some twenty connections to one node within seconds, and then goes on to other clusters. */
const maxKept = 32;
const recent = new LruMap<KeyPair, TlsSettings>(maxKept);

/**
 * The TLS settings of connections with this certificate to servers of this CA. Its key and certificates are read once
 * for many connections, since that costs more processor time than the handshake itself.
 */
export function tlsSettingsOf(ca: string, pair: KeyPair): TlsSettings {
  const known = recent.get(pair);
  if (known) return known;
  const { certificate: cert, key } = pair;
  const made = { secureContext: createSecureContext({ ca, cert, key: toLoadableKey(key).reveal() }) };
  recent.set(pair, made);
  return made;
}
