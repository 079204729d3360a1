import { createSecureContext } from 'node:tls';
import { LruMap } from '../../lib/lru-map.ts';
import type { KeyPair } from '../secrets/certificates.ts';
import { toLoadableKey } from '../secrets/pem.ts';
import type { TlsSettings } from './connection.ts';

/** A rollout connects to the nodes of one cluster several times within seconds, and then goes on to other clusters. */
const recent = new LruMap<KeyPair, TlsSettings>(32);

/**
 * The TLS settings of connections with this certificate to servers of this CA. Its key and certificates are read once
 * for many connections, since that costs more processor time than the handshake itself.
 */
export function tlsSettingsOf(ca: string, pair: KeyPair): TlsSettings {
  return recent.getOrAdd(pair, () => {
    const { certificate: cert, key } = pair;
    return { secureContext: createSecureContext({ ca, cert, key: toLoadableKey(key).reveal() }) };
  });
}
