import { createHash } from 'node:crypto';
import { isIP } from 'node:net';
import { connect, type TLSSocket } from 'node:tls';
import { buildConnector } from 'undici';
import { waitOrAbort } from '../deadline.ts';
import { ProviderError } from '../errors.ts';

/**
 * SHA-256 of a certificate as common tools print it: `openssl x509 -fingerprint -sha256` and Firefox with colons,
 * Chrome without separators, Windows with spaces; in letters of either case.
 */
export const fingerprintPattern =
  /^([Ss][Hh][Aa]-?256( [Ff]ingerprint)?[=:] ?)?[0-9A-Fa-f]{2}([: ]?[0-9A-Fa-f]{2}){31}$/;

/** The canonical form for comparison and output: capitals with colons. */
export const normalizeFingerprint = (text: string): string =>
  formatFingerprint(text.replace(/^sha-?256( fingerprint)?[=:] ?/i, '').replace(/[: ]/g, ''));

const formatFingerprint = (hex: string): string => hex.toUpperCase().match(/../g)?.join(':') ?? '';

/** The fingerprint of the peer's certificate; empty when it presented none. */
function peerFingerprint(socket: TLSSocket): string {
  const certificate = socket.getPeerX509Certificate();
  return certificate ? formatFingerprint(createHash('sha256').update(certificate.raw).digest('hex')) : '';
}

/**
 * Trust in one certificate instead of a certificate authority: neither its name nor its dates count then. Nothing is
 * sent before {@link refuse} has checked it.
 */
export class CertificatePin {
  readonly fingerprint: string;

  /** `text` in any form of {@link fingerprintPattern}. */
  constructor(text: string) {
    this.fingerprint = normalizeFingerprint(text);
  }

  /** For `tls.connect`: no verification by Node, because {@link refuse} verifies the certificate. */
  readonly tls = { rejectUnauthorized: false } as const;

  /** The error of a connection whose peer presented another certificate in its handshake: TLS_FINGERPRINT_DIFFERS. */
  refuse(socket: TLSSocket): ProviderError | undefined {
    const shown = peerFingerprint(socket);
    if (shown === this.fingerprint) return undefined;
    return new ProviderError(
      'TLS_FINGERPRINT_DIFFERS',
      `The fingerprint is ${shown || 'missing'}, not ${this.fingerprint}.`,
    );
  }

  /** For undici. Sessions are not cached, because a resumed session does not always show the certificate. */
  connector(timeout: number): buildConnector.connector {
    const open = buildConnector({ ...this.tls, timeout, maxCachedSessions: 0 });
    return (options, callback) =>
      open(options, (...[error, socket]: Parameters<buildConnector.Callback>) => {
        if (error) return callback(error, null);
        const rejection = this.refuse(socket as TLSSocket);
        if (!rejection) return callback(null, socket);
        socket.destroy();
        callback(rejection, null);
      });
  }
}

/**
 * The fingerprint that the server at `host` (with an optional port) presents. Sends nothing. Throws the error of the
 * socket or TLS.
 */
export async function fetchFingerprint(host: string, signal: AbortSignal): Promise<string> {
  const { hostname, port } = new URL(`https://${host}`);
  const name = hostname.replace(/^\[(.*)\]$/, '$1');
  const socket = connect({
    ...{ host: name, port: Number(port || 443), rejectUnauthorized: false },
    ...(isIP(name) ? {} : { servername: name }),
  });
  try {
    const shown = new Promise<string>((resolve, reject) => {
      socket.on('error', reject);
      socket.once('secureConnect', () => resolve(peerFingerprint(socket)));
    });
    return await waitOrAbort(shown, signal);
  } finally {
    socket.destroy();
  }
}
