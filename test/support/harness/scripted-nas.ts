import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeAll, beforeEach } from 'vitest';
import { type WebSocket, WebSocketServer } from 'ws';
import { z } from 'zod';
import { deadlineSignal } from '../../../src/lib/deadline.ts';
import { ProviderError } from '../../../src/lib/errors.ts';
import { noLog } from '../../../src/lib/log.ts';
import type { CertificatePin } from '../../../src/lib/net/certificate-pin.ts';
import { SecretString } from '../../../src/lib/secret-string.ts';
import { TrueNasClient } from '../../../src/platforms/truenas/api/client.ts';
import { systemEndpointOf } from '../../../src/platforms/truenas/config/config.ts';
import { issueServingCertificate, type ServingCertificate } from '../../world/truenas/protocol/serving-certificate.ts';
import { ManualClock } from '../manual-clock.ts';

export type ScriptedReply = { result: unknown } | { error: unknown } | 'silence' | 'hang-up';
type NasScript = (method: string, params: unknown[], socket: WebSocket) => ScriptedReply | Promise<ScriptedReply>;

/** A TrueNAS system whose responses the test controls. */
export class ScriptedNas {
  /** `connection`: the first is 1. */
  readonly calls: { method: string; params: unknown[]; connection: number }[] = [];
  /** Connections whose login has been answered. */
  readonly loggedIn = new Set<number>();
  /** The target of redirected upgrade requests, if any. */
  redirect: string | undefined;
  connections = 0;
  /** Whether the id of the call comes after its result, as in TrueNAS. */
  idLast = false;
  script: NasScript = () => ({ result: null });
  login: () => unknown = () => ({
    response_type: 'SUCCESS',
    user_info: { privilege: { roles: { $set: ['FULL_ADMIN'] } } },
  });
  sockets = new Set<WebSocket>();
  #server: Server;
  #ws: WebSocketServer;

  constructor(certificate: ServingCertificate) {
    this.#server = createServer({ cert: certificate.cert, key: certificate.key });
    this.#ws = new WebSocketServer({ server: this.#server, path: '/api/current' });
    // The response of the first listener wins.
    this.#server.prependListener('upgrade', (_request, socket) => {
      if (this.redirect) socket.end(`HTTP/1.1 302 Found\r\nLocation: ${this.redirect}\r\nConnection: close\r\n\r\n`);
    });
    this.#ws.on('connection', (socket) => {
      this.connections += 1;
      this.sockets.add(socket);
      const connection = this.connections;
      socket.on('message', (data) => this.#answer(socket, connection, JSON.parse(String(data))));
    });
  }

  #answer(
    socket: WebSocket,
    connection: number,
    { id, method, params }: { id: number; method: string; params: unknown[] },
  ): void {
    this.calls.push({ method, params, connection });
    const login = method === 'auth.login_ex' ? this.login() : undefined;
    const isWord = login === 'hang-up' || login === 'silence';
    const reply = isWord ? login : login ? { result: login } : this.script(method, params, socket);
    const send = (words: ScriptedReply): void => {
      if (words === 'hang-up') socket.terminate();
      else if (words !== 'silence') {
        const message = this.idLast ? { jsonrpc: '2.0', ...words, id } : { jsonrpc: '2.0', id, ...words };
        socket.send(JSON.stringify(message));
        if (method === 'auth.login_ex') this.loggedIn.add(connection);
      }
    };
    if (reply instanceof Promise) reply.then(send, () => socket.terminate());
    else send(reply);
  }

  named(method: string) {
    return this.calls.filter((call) => call.method === method);
  }

  async listen(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    return `127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    for (const socket of this.sockets) socket.terminate();
    this.#ws.close();
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

/** The fixtures that every test of a file gets: a scripted system, a client of it, and their shared clock. */
export interface ScriptedNasHarness {
  readonly server: ScriptedNas;
  readonly clock: ManualClock;
  nas: TrueNasClient;
  /** Another client; an empty `ca` trusts the certificate authorities of this machine. */
  open(ca?: string, pin?: CertificatePin): TrueNasClient;
  /** Restarts the system with another certificate, on another port. */
  present(certificate: ServingCertificate): Promise<void>;
  read(method?: string, seconds?: number): Promise<unknown>;
  change(method?: string): Promise<unknown>;
}

/** Call it once per file. */
export function useScriptedNas(): ScriptedNasHarness {
  let certificate: ServingCertificate;
  let url: string;
  const at = {
    present: async (other) => {
      await at.server.close();
      at.server = new ScriptedNas(other);
      url = await at.server.listen();
    },
    open: (ca: string = certificate.ca, pin?: CertificatePin) =>
      new TrueNasClient({
        endpoint: systemEndpointOf({ url }),
        ...(ca ? { ca } : {}),
        ...(pin ? { pin } : {}),
        username: new SecretString('root'),
        apiKey: new SecretString('1-key'),
        clock: at.clock,
        log: noLog,
        random: () => 1,
      }),
    read: (method = 'system.info', seconds?: number) =>
      at.nas.read(method, [], z.unknown(), { signal: tenSecondSignal(), ...(seconds ? { seconds } : {}) }),
    change: (method = 'vm.create') => at.nas.change(method, [], z.unknown(), { signal: tenSecondSignal() }),
  } as ScriptedNasHarness & { server: ScriptedNas; clock: ManualClock };
  beforeAll(async () => {
    certificate = await issueServingCertificate('127.0.0.1', 'test');
  });
  beforeEach(async () => {
    at.server = new ScriptedNas(certificate);
    url = await at.server.listen();
    at.clock = new ManualClock();
    at.nas = at.open();
  });
  afterEach(async () => {
    await at.nas.close();
    await at.server.close();
  });
  return at;
}

export const tenSecondSignal = (): AbortSignal => deadlineSignal(10);

/** The error code of a call, or its result if it succeeds. */
export async function errorCodeOf(promise: Promise<unknown>): Promise<unknown> {
  const thrown = await promise.then(
    (value) => ({ value }),
    (error: unknown) => error,
  );
  return thrown instanceof ProviderError ? thrown.code : thrown;
}
