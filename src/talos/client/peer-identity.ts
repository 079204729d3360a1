import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:tls';
import { deadlineSignal, isDeadlineError } from '../../lib/deadline.ts';
import { type TalosCallOptions, talosPort } from './connection.ts';

/**
 * Who answers on the port of the Talos API. `maintenance`: a node that waits for a configuration. `ours`: a node with
 * a certificate of our OS CA. `foreign`: anything else that talks TLS. `unreachable`: nothing does.
 */
export type PeerIdentity = 'maintenance' | 'ours' | 'foreign' | 'unreachable';

/** Subject of the certificate that a node makes for itself before it is configured (`constants.go` of Talos). */
const maintenanceSubject = 'CN=maintenance-service.talos.dev';

/**
 * Looks at the certificate of a node and says nothing. A call could not tell as much: a configured node lets a client
 * without a certificate finish the handshake and only then drops it, which looks like a node that is going down.
 */
export async function identifyPeer(
  address: string,
  options: TalosCallOptions & { readonly ca: string; readonly port?: number; readonly deadlineSeconds?: number },
): Promise<PeerIdentity> {
  options.signal?.throwIfAborted();
  const signal = deadlineSignal(options.deadlineSeconds ?? 10, options.signal);
  const socket = connect({
    host: address,
    port: options.port ?? talosPort,
    ALPNProtocols: ['h2'],
    // Nothing is sent and nothing believed: the certificate is judged below.
    rejectUnauthorized: false,
  });
  // A peer may reset the connection after the certificate was read; that is no failure of ours.
  socket.on('error', () => {});
  try {
    await once(socket, 'secureConnect', { signal });
    return identifyCertificate(socket.getPeerX509Certificate(), options.ca);
  } catch (error) {
    if (options.signal?.aborted) throw options.signal.reason;
    if (isDeadlineError(signal.reason) || error instanceof Error) return 'unreachable';
    throw error;
  } finally {
    socket.destroy();
  }
}

function identifyCertificate(certificate: X509Certificate | undefined, ca: string): PeerIdentity {
  if (!certificate) return 'foreign';
  if (certificate.subject.split('\n').includes(maintenanceSubject)) return 'maintenance';
  return certificate.verify(new X509Certificate(ca).publicKey) ? 'ours' : 'foreign';
}
