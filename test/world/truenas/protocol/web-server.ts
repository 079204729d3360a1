import { setMaxListeners } from 'node:events';
import { createServer as createPlainServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { createServer as createTcpServer, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { TLSSocket } from 'node:tls';
import { WebSocketServer } from 'ws';
import { startListening } from '../../network/listening.ts';
import type { MethodDispatcher } from '../middleware/dispatcher.ts';
import type { NasState } from '../nas-state.ts';
import { ClientConnection } from './client-connection.ts';
import { serveDownload } from './download.ts';
import { serveUpload } from './upload.ts';
import { serveWebSocketSession } from './websocket-session.ts';

/** The web server and the middleware behind it. */
export interface TrueNasWebServer {
  readonly port: number;
  /** Ends every connection and every call in flight, and answers 502 until `up`. */
  down(): void;
  up(): void;
  close(): Promise<void>;
}

/** aiohttp's own limit on a frame. */
const frameBytes = 4 * 1024 * 1024;
const tlsHandshakeByte = 0x16;

/**
 * Listens with TLS and, on the same port, unencrypted: a key that logs in unencrypted is revoked. `idleSeconds` are
 * real seconds, because they concern the client's behaviour.
 */
export async function startTrueNasWebServer(
  nas: NasState,
  dispatcher: MethodDispatcher,
  options: { host: string; port: number; cert: string; key: string; idleSeconds: number },
): Promise<TrueNasWebServer> {
  const clients = new Set<ClientConnection>();
  const sockets = new Set<Socket>();
  const upgrades = new WebSocketServer({ noServer: true, maxPayload: frameBytes });
  const begin = (): AbortController => {
    const started = new AbortController();
    // There is one listener for each call; the number is unlimited.
    setMaxListeners(0, started.signal);
    return started;
  };
  let life: AbortController | undefined = begin();

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
    if (request.method === 'GET' && path.startsWith('/_download/')) {
      serveDownload(nas, request, response, life.signal).catch(() => request.socket.destroy());
      return;
    }
    servePlainPage(nas, path, response);
  };

  const onUpgrade = (request: IncomingMessage, socket: Duplex, head: Buffer): void => {
    const endpoint = endpointAt(nas, request.url ?? '');
    if (!life || endpoint === undefined) {
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
      // Only at this point: the upgrade of the socket clears its timeout.
      request.socket.setTimeout(options.idleSeconds * 1000, () => request.socket.destroy());
      const client = new ClientConnection(peer, webSocket);
      clients.add(client);
      webSocket.on('close', () => clients.delete(client));
      serveWebSocketSession(nas, dispatcher, webSocket, client, signal);
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
  const port = await startListening(front, options.host, options.port);

  const cutAll = (): void => {
    life?.abort();
    life = undefined;
    for (const client of clients) client.cut();
    for (const socket of sockets) socket.destroy();
  };
  return {
    port,
    down: cutAll,
    up: () => {
      life = begin();
    },
    close: async () => {
      cutAll();
      await new Promise((resolve) => front.close(resolve));
    },
  };
}

/** The release whose methods a path serves: `current`, or a pinned one. */
function endpointAt({ version }: NasState, url: string): string | undefined {
  const endpoint = /^\/api\/([^/?]+)\/?(?:\?|$)/.exec(url)?.[1] ?? '';
  return endpoint === 'current' || version.endpoints.includes(endpoint) ? endpoint : undefined;
}

function servePlainPage(nas: NasState, path: string, response: ServerResponse): void {
  const json = (value: unknown) =>
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(value));
  if (path === '/api/versions') json(nas.version.endpoints);
  else if (path === '/api/boot_id' && nas.version.hasBootIdEndpoint) json(nas.bootId);
  else if (path === '/') response.writeHead(302, { location: '/ui/' }).end();
  else response.writeHead(404).end('404: Not Found');
}
