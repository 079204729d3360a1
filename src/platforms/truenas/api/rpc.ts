import { createHash } from 'node:crypto';
import type { ClientRequest } from 'node:http';
import type { TLSSocket } from 'node:tls';
import { WebSocket } from 'ws';
import type { Clock } from '../../../lib/clock.ts';
import { assertActive, deadlineSignal } from '../../../lib/deadline.ts';
import type { CertificatePin } from '../../../lib/net/certificate-pin.ts';
import { ReadRateLimit } from '../../../lib/resilience/rate-limit.ts';
import { ConnectionLost, parseFault } from '../errors.ts';
import { receiveLimits } from './receive-limits.ts';

export interface RpcOptions {
  readonly url: string;
  /** PEM; without CA and pin the public root certificates are trusted. */
  readonly ca?: string;
  /** The only certificate that is trusted. */
  readonly pin?: CertificatePin;
  readonly clock: Clock;
  /** Aborts the opening of the connection. */
  readonly signal: AbortSignal;
  /** Called with each notification of the server. It must not throw. */
  readonly onNotification: (method: string, params: unknown) => void;
}

/** An answer that is not parsed yet. */
export interface UnparsedReply {
  /** Equal for equal answers. */
  readonly hash: string;
  read(): unknown;
}

/** JSON-RPC 2.0 over one WebSocket connection. */
export interface Rpc {
  /**
   * Sends one call and waits for its answer. Throws {@link RpcFault} when the server refused, {@link ConnectionLost}
   * when the connection ended first, and the signal's reason when it was aborted first.
   */
  request(method: string, params: readonly unknown[], signal: AbortSignal): Promise<unknown>;
  /** The same without parsing the answer: parsing a large unchanged answer is the expensive part. */
  requestUnread(method: string, params: readonly unknown[], signal: AbortSignal): Promise<UnparsedReply>;
  readonly open: boolean;
  /** Certificate of the server, in DER. */
  readonly certificate: Buffer | undefined;
  /** Resolves when the connection has ended, for any reason. */
  readonly closed: Promise<ConnectionLost>;
  /** Sends a close frame and waits for the answer. */
  close(): void;
  /** Ends the connection at once. */
  terminate(): void;
}

/** nginx before TrueNAS 25.x drops a connection after 60 idle seconds. */
const pingIntervalSeconds = 20;
/** Longest request that TrueNAS accepts from an authenticated client (middleware: utils/limits.py). */
const maxRequestBytes = 65536;

interface PendingCall {
  readonly isUnread: boolean;
  readonly resolve: (value: unknown) => void;
  readonly reject: (reason: unknown) => void;
}

/** Opens the connection. Throws the error of the socket or of TLS. Redirects are not followed. */
export async function openRpc(options: RpcOptions): Promise<Rpc> {
  const { socket, certificate } = await openSocket(options);
  const pending = new Map<number, PendingCall>();
  let nextId = 1;
  let lost: ConnectionLost | undefined;
  const over = new AbortController();

  const closed = new Promise<ConnectionLost>((resolve) => {
    socket.on('close', (code, reason) => {
      lost = new ConnectionLost(code === 1006 ? 0 : code, reason.toString('utf8').slice(0, 200));
      for (const { reject } of pending.values()) reject(lost);
      pending.clear();
      over.abort(lost);
      resolve(lost);
    });
  });
  // A close event follows each error. This listener only prevents an unhandled error event.
  socket.on('error', () => {});
  const rest = limitReceiveRate(socket, options.clock, over.signal);
  socket.on('message', (data: Buffer) => {
    rest(data.length);
    if (!receiveUnparsed(data, pending)) receiveMessage(data, pending, options.onNotification);
  });
  socket.on('ping', (data: Buffer) => {
    rest(data.length);
    if (socket.bufferedAmount < receiveLimits.unreadBytes) socket.pong(data);
  });
  keepAlive(socket, options.clock, over.signal);

  const ask = async (method: string, params: readonly unknown[], signal: AbortSignal, isUnread: boolean) => {
    assertActive(signal);
    if (lost) throw lost;
    const id = nextId;
    nextId += 1;
    const text = JSON.stringify({ jsonrpc: '2.0', id, method, params });
    if (Buffer.byteLength(text) > maxRequestBytes) {
      throw new RangeError(`the parameters of ${method} exceed the message size limit of TrueNAS`);
    }
    const answer = waitForReply(id, pending, signal, isUnread);
    socket.send(text);
    return await answer;
  };

  return {
    closed,
    certificate,
    get open() {
      return lost === undefined && socket.readyState === WebSocket.OPEN;
    },
    close: () => socket.close(1000),
    terminate: () => socket.terminate(),
    request: (method, params, signal) => ask(method, params, signal, false),
    requestUnread: async (method, params, signal) => (await ask(method, params, signal, true)) as UnparsedReply,
  };
}

/** Registers a pending call until its answer comes or the signal aborts. */
function waitForReply(
  id: number,
  pending: Map<number, PendingCall>,
  signal: AbortSignal,
  isUnread: boolean,
): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const finish = () => {
      signal.removeEventListener('abort', onAbort);
      pending.delete(id);
    };
    const onAbort = () => {
      finish();
      reject(signal.reason);
    };
    signal.addEventListener('abort', onAbort, { once: true });
    pending.set(id, {
      isUnread,
      resolve: (value) => {
        finish();
        resolve(value);
      },
      reject: (reason) => {
        finish();
        reject(reason);
      },
    });
  });
}

async function openSocket({
  url,
  ca,
  pin,
  signal,
}: RpcOptions): Promise<{ socket: WebSocket } & Pick<Rpc, 'certificate'>> {
  const limited = deadlineSignal(15, signal);
  const socket = new WebSocket(url, {
    ...(ca === undefined ? {} : { ca }),
    ...(pin === undefined ? {} : { ...pin.tls, finishRequest: sendAfterPinCheck(pin) }),
    followRedirects: false,
    perMessageDeflate: false,
    maxPayload: receiveLimits.messageBytes,
    maxFragments: receiveLimits.fragments,
    maxBufferedChunks: receiveLimits.chunks,
    autoPong: false,
  });
  let certificate: Buffer | undefined;
  socket.once('upgrade', (response) => {
    certificate = (response.socket as TLSSocket).getPeerX509Certificate()?.raw;
  });
  return await new Promise((resolve, reject) => {
    const onAbort = () => {
      reject(limited.reason);
      socket.terminate();
    };
    // Stays attached: `terminate` before the connection is open emits another error.
    socket.on('error', reject);
    if (limited.aborted) return onAbort();
    limited.addEventListener('abort', onAbort, { once: true });
    socket.once('close', () => reject(new ConnectionLost(0, 'before it was open')));
    socket.once('open', () => {
      limited.removeEventListener('abort', onAbort);
      resolve({ socket, certificate });
    });
  });
}

/** Sends the request only after the server has shown the right certificate. */
const sendAfterPinCheck = (pin: CertificatePin) => (request: ClientRequest) => {
  request.once('socket', (socket: TLSSocket) => {
    socket.once('secureConnect', () => {
      const rejection = pin.refuse(socket);
      if (rejection) request.destroy(rejection);
      else request.end();
    });
  });
};

/** First and last bytes of a successful answer (middleware: api/base/server/ws_handler/rpc.py). */
const resultPrefix = /^\{"jsonrpc": ?"2\.0", ?"result": ?/;
const idSuffix = /, ?"id": ?(\d+)\}$/;

/** Handles an answer that is not to be parsed; false when parsing is necessary to identify it. */
function receiveUnparsed(data: Buffer, pending: Map<number, PendingCall>): boolean {
  const [, id] = idSuffix.exec(data.toString('latin1', Math.max(0, data.length - 40))) ?? [];
  const call = id === undefined ? undefined : pending.get(Number(id));
  const begin = resultPrefix.exec(data.toString('latin1', 0, 40))?.[0].length;
  if (!call?.isUnread || begin === undefined) return false;
  const end = data.lastIndexOf(',');
  const result = data.subarray(begin, end);
  call.resolve({ hash: hashOf(result), read: () => JSON.parse(result.toString()) } satisfies UnparsedReply);
  return true;
}

const hashOf = (text: string | Buffer): string => createHash('sha256').update(text).digest('base64url');

const toUnparsedReply = (result: unknown): UnparsedReply => ({
  hash: hashOf(JSON.stringify(result) ?? ''),
  read: () => result,
});

/** Pauses reading when messages arrive too fast. */
function limitReceiveRate(socket: WebSocket, clock: Clock, over: AbortSignal): (bytes: number) => void {
  const limit = new ReadRateLimit(clock, receiveLimits);
  return (bytes) => {
    const seconds = limit.spend(bytes, 1);
    // Data that was read before the pause is still delivered.
    if (seconds <= 0 || socket.isPaused) return;
    socket.pause();
    clock.sleep(seconds * 1000, over).then(
      () => socket.resume(),
      () => {},
    );
  };
}

function receiveMessage(
  data: Buffer,
  pending: Map<number, PendingCall>,
  onNotification: RpcOptions['onNotification'],
): void {
  // No call expects an answer of this length.
  if (pending.size === 0 && data.length > receiveLimits.newsBytes) return;
  let message: { id?: unknown; method?: unknown; params?: unknown; result?: unknown; error?: unknown };
  try {
    message = JSON.parse(String(data));
  } catch {
    // Not JSON: no call waits for it, and pending calls have their own timeouts.
    return;
  }
  if (typeof message.id === 'number') {
    const call = pending.get(message.id);
    if (message.error === undefined || message.error === null)
      call?.resolve(call.isUnread ? toUnparsedReply(message.result) : message.result);
    else call?.reject(parseFault(message.error));
  } else if (typeof message.method === 'string' && data.length <= receiveLimits.newsBytes) {
    onNotification(message.method, message.params);
  }
}

/**
 * Sends pings while the connection lives, and ends it when nothing was received since a ping and the next one is due. A
 * process that was suspended (SIGSTOP, a paused machine) runs its timers before it reads the data that arrived
 * meanwhile, so it sends one more ping first.
 */
function keepAlive(socket: WebSocket, clock: Clock, over: AbortSignal): void {
  let isAlive = true;
  const onPong = () => {
    isAlive = true;
  };
  socket.on('pong', onPong);
  socket.on('message', onPong);
  const beat = async () => {
    while (!over.aborted) {
      const since = clock.monotonic();
      await clock.sleep(pingIntervalSeconds * 1000, over);
      const wasSuspended = clock.monotonic() - since > 1.5 * pingIntervalSeconds * 1000;
      if (!isAlive && !wasSuspended) return socket.terminate();
      isAlive = false;
      socket.ping();
    }
  };
  // A ping fails only when the connection has ended, which is handled elsewhere.
  beat().catch(() => {});
}
