import {
  createSecureServer,
  type Http2SecureServer,
  type Http2ServerRequest,
  type Http2ServerResponse,
  type Http2Session,
} from 'node:http2';
import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import type { Clock } from '../lib/clock.ts';
import type { Log } from '../lib/log.ts';
import { toAuthority } from '../lib/net/ip.ts';
import { readCertificateFolder, type ServerCertificates } from './certificate-folder.ts';
import { type BindAddress, withBindHost } from './listen.ts';

export type Http2Handler = (request: Http2ServerRequest, response: Http2ServerResponse) => void;

export interface MutualTlsServerOptions {
  readonly address: BindAddress;
  /** Folder with `tls.crt`, `tls.key` and `ca.crt`, which may change at any time. */
  readonly folder: string;
  /** Called only for clients with a certificate of the authority. */
  readonly handler: Http2Handler;
  readonly clock: Clock;
  readonly log: Log;
}

/** How often the files are read. The kubelet takes up to a minute, too, until a Pod has a changed Secret. */
const reloadSeconds = 60;

/** Bounds of everything that a client can open, in numbers, bytes and milliseconds. */
const limits = {
  connections: 256,
  handshakeMs: 10_000,
  /** A client that calls nothing for so long connects again when it does. */
  idleMs: 3_600_000,
  streams: 64,
  headerBytes: 16_384,
} as const;

/**
 * Serves HTTP/2 to clients with a certificate of the authority in the folder, until the signal ends. Changed files are
 * taken over: open sessions end in order then, so that a client whose authority was removed does not stay. Rejects when
 * the files cannot be used at the start, or the address is taken.
 */
export async function serveMutualTls(options: MutualTlsServerOptions, signal: AbortSignal): Promise<void> {
  const { address, folder, handler, log } = options;
  const certificates = await readCertificateFolder(folder);
  const server = createSecureServer({
    ...toTlsOptions(certificates),
    requestCert: true,
    rejectUnauthorized: true,
    allowHTTP1: false,
    handshakeTimeout: limits.handshakeMs,
    maxSessionMemory: 4,
    settings: { maxConcurrentStreams: limits.streams, maxHeaderListSize: limits.headerBytes },
  });
  server.maxConnections = limits.connections;
  const open = trackConnections(server);
  server.on('request', handler);
  server.on('tlsClientError', (error: Error) => log.debug({ error: error.message }, 'a client was rejected'));
  server.on('sessionError', (error: Error) => log.debug({ error: error.message }, 'a session failed'));
  try {
    await withBindHost(address.host, (host) => listenOn(server, host, address.port));
    log.info({ address: describeAddress(server) }, 'serving over mutual TLS');
    await reloadUntil(options, { server, open, certificates }, signal);
  } finally {
    await closeServer(server, open);
  }
}

/** The client certificate of a request. */
export interface ClientCertificate {
  /** The subject alternative names as Node writes them, e.g. `URI:cluster://shop/prod`. */
  readonly names: string;
  readonly validTo: Date;
}

/** Undefined: the connection has ended meanwhile. */
export function clientCertificateOf(request: Http2ServerRequest): ClientCertificate | undefined {
  const socket = request.stream.session?.socket as TLSSocket | undefined;
  const found = socket?.authorized ? socket.getPeerX509Certificate() : undefined;
  return found && { names: found.subjectAltName ?? '', validTo: new Date(found.validTo) };
}

const toTlsOptions = ({ cert, key, ca }: ServerCertificates) => ({
  cert,
  key: key.reveal(),
  ca,
  minVersion: 'TLSv1.3' as const,
});

/** What is open. A connection without a session is in its handshake. */
interface OpenConnections {
  readonly sessions: ReadonlySet<Http2Session>;
  readonly sockets: ReadonlySet<Socket>;
}

function trackConnections(server: Http2SecureServer): OpenConnections {
  const sessions = new Set<Http2Session>();
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  server.on('session', (session) => {
    sessions.add(session);
    session.setTimeout(limits.idleMs, () => session.close());
    session.once('close', () => sessions.delete(session));
  });
  return { sessions, sockets };
}

interface RunningServer {
  readonly server: Http2SecureServer;
  readonly open: OpenConnections;
  readonly certificates: ServerCertificates;
}

async function reloadUntil(
  { folder, clock, log }: MutualTlsServerOptions,
  { server, open, certificates }: RunningServer,
  signal: AbortSignal,
): Promise<void> {
  let used = certificates;
  while (!signal.aborted) {
    await clock.sleep(reloadSeconds * 1000, signal).catch(() => {});
    if (signal.aborted) return;
    try {
      const found = await readCertificateFolder(folder);
      if (found.cert === used.cert && found.ca === used.ca) continue;
      server.setSecureContext(toTlsOptions(found));
      used = found;
      for (const session of open.sessions) session.close();
      log.info({ folder }, 'the certificates were loaded again');
    } catch (error) {
      log.warn({ folder, error: String(error) }, 'the certificates cannot be loaded, the former ones stay in use');
    }
  }
}

function listenOn(server: Http2SecureServer, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host, port }, () => {
      server.off('error', reject);
      server.on('error', () => {});
      resolve();
    });
  });
}

function describeAddress(server: Http2SecureServer): string {
  const bound = server.address();
  return bound === null || typeof bound === 'string' ? '' : toAuthority(bound.address, bound.port);
}

/** Milliseconds for the calls that are under way. */
const closeMs = 2000;

function closeServer(server: Http2SecureServer, { sessions, sockets }: OpenConnections): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => {
      for (const socket of sockets) socket.destroy();
    }, closeMs);
    server.close(() => {
      clearTimeout(timer);
      resolve();
    });
    for (const session of sessions) session.close();
  });
}
