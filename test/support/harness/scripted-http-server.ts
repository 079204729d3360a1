import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';

/** A received request, as far as tests check it. */
export interface ReceivedRequest {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
  /** Identifies the connection. */
  readonly socket: Socket;
}

export interface ScriptedHttpServer {
  readonly url: string;
  readonly received: ReceivedRequest[];
  /** Connections open right now. */
  readonly open: ReadonlySet<Socket>;
  close(): Promise<void>;
}

/** An HTTP server on loopback whose responses `handle` controls. It records its requests. */
export async function startScriptedHttpServer(
  handle: (received: ReceivedRequest, response: ServerResponse, nth: number) => void,
  make: (listener: (request: IncomingMessage, response: ServerResponse) => void) => Server = createServer,
): Promise<ScriptedHttpServer> {
  const received: ReceivedRequest[] = [];
  const open = new Set<Socket>();
  const server = make((request, response) => {
    let body = '';
    request.setEncoding('utf8');
    request.on('data', (chunk: string) => {
      body += chunk;
    });
    request.on('end', () => {
      const url = new URL(request.url ?? '/', 'http://localhost');
      const { method = 'GET', headers, socket } = request;
      received.push({ method, path: url.pathname, query: url.searchParams, headers, body, socket });
      const last = received.at(-1);
      if (last) handle(last, response, received.length);
    });
  });
  server.on('connection', (socket: Socket) => {
    open.add(socket);
    socket.on('close', () => open.delete(socket));
    socket.on('error', () => {});
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    received,
    open,
    close: async () => {
      for (const socket of open) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Replies with JSON. */
export function replyJson(
  response: ServerResponse,
  body: unknown,
  code = 200,
  headers: Record<string, string> = {},
): void {
  response.writeHead(code, { 'content-type': 'application/json', ...headers });
  response.end(JSON.stringify(body));
}

/** Replies with a `Status` object, like a rejection by the API server. */
export function replyStatus(
  response: ServerResponse,
  code: number,
  reason: string,
  more: Record<string, unknown> = {},
): void {
  replyJson(
    response,
    { kind: 'Status', apiVersion: 'v1', status: 'Failure', code, reason, message: reason, ...more },
    code,
  );
}

/** Waits for a condition, for at most half a minute. It does not assert how fast the condition holds. */
export async function waitForCondition(condition: () => boolean, what: string): Promise<void> {
  const end = performance.now() + 30_000;
  while (!condition()) {
    if (performance.now() > end) throw new Error(`waited too long until ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
}
