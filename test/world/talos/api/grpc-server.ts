import {
  createSecureServer,
  type Http2SecureServer,
  type Http2ServerRequest,
  type Http2ServerResponse,
  type Http2Session,
} from 'node:http2';
import { createServer as createTcpServer } from 'node:net';
import type { TLSSocket } from 'node:tls';
import type { ConnectRouter, Interceptor } from '@connectrpc/connect';
import { createContextKey, createContextValues } from '@connectrpc/connect';
import { connectNodeAdapter } from '@connectrpc/connect-node';
import { startListening } from '../../network/listening.ts';
import { clientAuth, type LeafCertificate } from '../certificates/pki.ts';

/** The caller: the connection, and the organisations of its client certificate. */
export interface GrpcCaller {
  readonly session: Http2Session | undefined;
  readonly organizations: readonly string[];
}

export const callerKey = createContextKey<GrpcCaller>({ session: undefined, organizations: [] });

export interface GrpcListenOptions {
  readonly addresses: readonly string[];
  readonly port: number;
  readonly leaf: LeafCertificate;
  /** One of these CAs (PEM) must have signed a client certificate; undefined: no client certificate is requested. */
  readonly clientCas?: readonly string[];
  readonly routes: (router: ConnectRouter) => void;
  readonly interceptors: Interceptor[];
}

export interface GrpcListener {
  /** The port, the same on all addresses. */
  readonly port: number;
  /** New connections get this certificate, and have to show one of these authorities. Default: the same as before. */
  renew(leaf: LeafCertificate, clientCas?: readonly string[]): void;
  /** Closes the port and every connection, either at once or gracefully, after the end of the streams. */
  close(inOrder?: boolean): Promise<void>;
}

const maxMessageBytes = 32 << 20;

/** gRPC over TLS on each address. Rejects with the operating system's error when one of them cannot be bound. */
export async function listenGrpc(options: GrpcListenOptions): Promise<GrpcListener> {
  const handler = connectNodeAdapter({
    routes: options.routes,
    interceptors: options.interceptors,
    connect: false,
    grpcWeb: false,
    // Compression is disabled: a forwarded answer does not know the negotiated one.
    acceptCompression: [],
    readMaxBytes: maxMessageBytes,
    writeMaxBytes: maxMessageBytes,
    fallback: (request, response) =>
      answerUnknownService(request as Http2ServerRequest, response as Http2ServerResponse),
    contextValues: (request) => createContextValues().set(callerKey, callerOf(request as Http2ServerRequest)),
  });
  const servers: OpenServer[] = [];
  const close = async (inOrder = false) => {
    await Promise.all(servers.map((opened) => closeServer(opened, inOrder)));
  };
  let port = options.port;
  try {
    for (const address of options.addresses) {
      const opened = createGrpcServer(options, handler as never);
      servers.push(opened);
      port = await startListening(opened.server, address, port);
    }
  } catch (error) {
    await close();
    throw error;
  }
  return {
    port,
    renew: (leaf, clientCas = options.clientCas) => {
      for (const { server } of servers) server.setSecureContext(secure(leaf, clientCas));
    },
    close,
  };
}

/** An unknown service, in the words of a Go server. */
function answerUnknownService(request: Http2ServerRequest, response: Http2ServerResponse): void {
  const message = `unknown service ${request.url.split('/')[1] ?? ''}`;
  const headers = { 'content-type': 'application/grpc', 'grpc-status': '12', 'grpc-message': message };
  // One frame with all of it: without data, a status outside of the last frame is an error to clients of Go.
  response.stream.respond({ ':status': 200, ...headers }, { endStream: true });
}

interface OpenServer {
  readonly server: Http2SecureServer;
  readonly sockets: Set<{ destroy(): void }>;
  readonly sessions: Set<Http2Session>;
}

function createGrpcServer(options: GrpcListenOptions, handler: (request: never, response: never) => void): OpenServer {
  const mutual = options.clientCas !== undefined;
  const server = createSecureServer({
    ...secure(options.leaf, options.clientCas),
    requestCert: mutual,
    rejectUnauthorized: mutual,
    allowHTTP1: false,
  });
  const sockets = new Set<{ destroy(): void }>();
  const sessions = new Set<Http2Session>();
  server.on('session', (session) => {
    sessions.add(session);
    session.once('close', () => sessions.delete(session));
  });
  server.on('request', handler as never);
  server.on('connection', (socket: { destroy(): void; on(event: string, listener: () => void): void }) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  // Before HTTP/2 starts: a check of Talos that crypto/tls does not have (talos: internal/app/apid/pkg/provider).
  if (mutual) server.prependListener('secureConnection', rejectOtherKeyUsages);
  // A client that disconnects during a handshake needs no handling.
  server.on('tlsClientError', () => {});
  server.on('sessionError', () => {});
  server.on('error', () => {});
  return { server, sockets, sessions };
}

function rejectOtherKeyUsages(socket: TLSSocket): void {
  const usages = socket.getPeerCertificate().ext_key_usage ?? [];
  if (usages.length !== 1 || usages[0] !== clientAuth) socket.destroy();
}

const secure = (leaf: LeafCertificate, clientCas: readonly string[] | undefined) => ({
  cert: leaf.cert,
  key: leaf.key,
  minVersion: 'TLSv1.2' as const,
  ...(clientCas ? { ca: [...clientCas] } : {}),
});

/** Real milliseconds to wait for open streams. */
const closeTimeoutMilliseconds = 1000;

function closeServer({ server, sockets, sessions }: OpenServer, inOrder: boolean): Promise<void> {
  return new Promise((resolve) => {
    const cut = () => {
      for (const socket of sockets) socket.destroy();
    };
    const timer = setTimeout(cut, inOrder ? closeTimeoutMilliseconds : 0);
    server.close(() => {
      clearTimeout(timer);
      resolve();
    });
    if (!inOrder) cut();
    else for (const session of sessions) session.close();
  });
}

function callerOf(request: Http2ServerRequest): GrpcCaller {
  const session = request.stream?.session;
  const socket = session?.socket as TLSSocket | undefined;
  const subject = socket?.getPeerCertificate?.()?.subject as { O?: string | string[] } | undefined;
  const organizations = subject?.O === undefined ? [] : Array.isArray(subject.O) ? subject.O : [subject.O];
  return { session, organizations };
}

/** A port that accepts and resets: the kernel runs, and no service listens yet. */
export async function resetConnectionsOnPort(address: string, port: number): Promise<() => Promise<void>> {
  const server = createTcpServer((socket) => socket.resetAndDestroy());
  await startListening(server, address, port);
  return () => new Promise((resolve) => server.close(() => resolve()));
}
