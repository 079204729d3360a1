import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:tls';
import { deadlineSignal, isDeadlineError } from '../../lib/deadline.ts';
import { splitCertificates } from '../secrets/pem.ts';
import { type TalosCallOptions, talosPort } from './connection.ts';

/**
 * The identity of the server on the port of the Talos API. `maintenance`: a node that waits for a configuration.
 * `ours`: a node with a certificate of this cluster's OS CA. `foreign`: any other TLS server. `unreachable`: no server.
 */
export type PeerIdentity = 'maintenance' | 'ours' | 'foreign' | 'unreachable';

/** Subject of the certificate that a node generates for itself before it is configured (`constants.go` of Talos). */
const maintenanceSubject = 'CN=maintenance-service.talos.dev';

/**
 * Reads the certificate of a node and sends nothing. A call would reveal less: a configured node lets a client without
 * a certificate finish the handshake and drops the connection only then, which looks like a node that shuts down.
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
    // The client sends nothing and trusts nothing here: the certificate is checked below.
    rejectUnauthorized: false,
  });
  // A peer may reset the connection after the certificate was read, which is not an error.
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
  const isIssuer = (pem: string): boolean => certificate.verify(new X509Certificate(pem).publicKey);
  return splitCertificates(ca).some(isIssuer) ? 'ours' : 'foreign';
}
