import { createServer as createPlainServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { type AddressInfo, createServer as createTcpServer, type Server, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { TLSSocket } from 'node:tls';
import { WebSocketServer } from 'ws';
import { Client } from './client.ts';
import type { Dispatcher } from './dispatch.ts';
import type { Nas } from './nas.ts';
import { serveSession } from './session.ts';
import { serveUpload } from './upload.ts';

/** The web server in front, and the middleware behind it. */
export interface WebServer {
  readonly port: number;
  readonly clients: ReadonlySet<Client>;
  /** Ends every connection and everything in flight, and answers 502 until `up`. */
  down(): void;
  up(): void;
  close(): Promise<void>;
}

/** aiohttp's own limit on a frame. */
const frameBytes = 4 * 1024 * 1024;
const tlsHandshakeByte = 0x16;

/**
 * Listens with TLS and, on the same port, in the clear: whoever logs in with a key in the clear loses it.
 * `idleSeconds` are real ones: they are about the client's habits.
 */
export async function listen(
  nas: Nas,
  dispatcher: Dispatcher,
  options: { host: string; port: number; cert: string; key: string; idleSeconds: number },
): Promise<WebServer> {
  const clients = new Set<Client>();
  const sockets = new Set<Socket>();
  const upgrades = new WebSocketServer({ noServer: true, maxPayload: frameBytes });
  let life: AbortController | undefined = new AbortController();

  const onRequest = (request: IncomingMessage, response: ServerResponse): void => {
    const path = (request.url ?? '/').split('?')[0] ?? '/';
    if (!life) {
      response.writeHead(502).end('Bad Gateway');
      return;
    }
    if (request.method === 'POST' && /^\/_upload\/?$/.test(path)) {
      const isSecure = request.socket instanceof TLSSocket;
      serveUpload(nas, dispatcher, request, response, isSecure, life.signal).catch(() => request.socket.destroy());
      return;
    }
    answerPage(nas, path, response);
  };

  const onUpgrade = (request: IncomingMessage, socket: Duplex, head: Buffer): void => {
    const endpoint = /^\/api\/([^/?]+)\/?(?:\?.*)?$/.exec(request.url ?? '')?.[1] ?? '';
    if (!life || (endpoint !== 'current' && !nas.version.endpoints.includes(endpoint))) {
      socket.end(`HTTP/1.1 ${life ? '404 Not Found' : '502 Bad Gateway'}\r\nConnection: close\r\n\r\n`);
      return;
    }
    const { signal } = life;
    const peer = {
      address: request.socket.remoteAddress ?? '',
      isSecure: request.socket instanceof TLSSocket,
      endpoint,
    };
    upgrades.handleUpgrade(request, socket, head, (webSocket) => {
      // Only now: taking the socket over clears its timeout.
      request.socket.setTimeout(options.idleSeconds * 1000, () => request.socket.destroy());
      const client = new Client(peer, webSocket);
      clients.add(client);
      webSocket.on('close', () => clients.delete(client));
      serveSession(nas, dispatcher, webSocket, client, signal);
    });
  };

  const plain = createPlainServer(onRequest).on('upgrade', onUpgrade);
  const tls = createTlsServer({ cert: options.cert, key: options.key }, onRequest).on('upgrade', onUpgrade);
  tls.on('tlsClientError', () => undefined);
  const front = createTcpServer((socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => socket.destroy());
    socket.once('data', (first) => {
      socket.pause();
      socket.unshift(first);
      (first[0] === tlsHandshakeByte ? tls : plain).emit('connection', socket);
      process.nextTick(() => socket.resume());
    });
  });
  await startListening(front, options.host, options.port);

  const cutAll = (): void => {
    life?.abort();
    life = undefined;
    for (const client of clients) client.cut();
    for (const socket of sockets) socket.destroy();
  };
  return {
    port: (front.address() as AddressInfo).port,
    clients,
    down: cutAll,
    up: () => {
      life = new AbortController();
    },
    close: async () => {
      cutAll();
      await new Promise((resolve) => front.close(resolve));
    },
  };
}

function answerPage(nas: Nas, path: string, response: ServerResponse): void {
  const json = (value: unknown) =>
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(value));
  if (path === '/api/versions') json(nas.version.endpoints);
  else if (path === '/api/boot_id' && nas.version.hasBootIdEndpoint) json(nas.bootId);
  else if (path === '/') response.writeHead(302, { location: '/ui/' }).end();
  else response.writeHead(404).end('404: Not Found');
}

async function startListening(server: Server, host: string, port: number): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.off('error', reject);
      resolve();
    });
  });
}
