import { createHash } from 'node:crypto';
import type { ClientRequest } from 'node:http';
import type { TLSSocket } from 'node:tls';
import { WebSocket } from 'ws';
import type { Clock } from '../../../lib/clock.ts';
import { assertActive, deadlineSignal } from '../../../lib/deadline.ts';
import type { CertificatePin } from '../../../lib/net/certificate-pin.ts';
import { ReadThrottle } from '../../../lib/resilience/read-throttle.ts';
import { ConnectionLost, parseFault } from '../errors.ts';
import { receiveLimits } from './receive-limits.ts';

export interface RpcOptions {
  readonly url: string;
  /** PEM; without it and without a pin the public roots are trusted. */
  readonly ca?: string;
  /** The certificate to trust beside nothing else. */
  readonly pin?: CertificatePin;
  readonly clock: Clock;
  /** Ends the opening of the connection. */
  readonly signal: AbortSignal;
  /** Called with what the server sends by itself. It must not throw. */
  readonly onNotification: (method: string, params: unknown) => void;
}

/** An answer that nobody has read yet. */
export interface UnparsedReply {
  /** Equal for equal answers. */
  readonly hash: string;
  read(): unknown;
}

/** JSON-RPC 2.0 over one WebSocket, until it closes. */
export interface Rpc {
  /**
   * Sends one call and waits for its answer. Throws {@link RpcFault} when the server refused, {@link ConnectionLost}
   * when the connection ended first, and the signal's reason when that was earlier.
   */
  request(method: string, params: readonly unknown[], signal: AbortSignal): Promise<unknown>;
  /** The same, and the answer is left as it came: of a large one that says nothing new, reading is what costs. */
  requestUnread(method: string, params: readonly unknown[], signal: AbortSignal): Promise<UnparsedReply>;
  readonly open: boolean;
  /** That of the other side, in DER. */
  readonly certificate: Buffer | undefined;
  /** Resolves when the connection has ended, by whatever cause. */
  readonly closed: Promise<ConnectionLost>;
  /** Says goodbye and waits for the answer. */
  close(): void;
  /** Ends it at once. */
  terminate(): void;
}

/** nginx before TrueNAS 25.x drops a connection after 60 silent seconds. */
const pingIntervalSeconds = 20;
/** Longest request that TrueNAS reads from an authenticated client (middleware: utils/limits.py). */
const maxRequestBytes = 65536;

interface PendingCall {
  readonly isUnread: boolean;
  readonly resolve: (value: unknown) => void;
  readonly reject: (reason: unknown) => void;
}

/** Opens the connection. Throws what the socket or TLS threw. Redirects are not followed. */
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
  // A close follows each error; this listener only keeps the process alive.
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
      throw new RangeError(`the parameters of ${method} are longer than TrueNAS reads`);
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

/** Waits among those whose answers are pending until one comes, or the signal aborts. */
function waitForReply(
  id: number,
  pending: Map<number, PendingCall>,
  signal: AbortSignal,
  isUnread: boolean,
): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const settle = () => {
      signal.removeEventListener('abort', onAbort);
      pending.delete(id);
    };
    const onAbort = () => {
      settle();
      reject(signal.reason);
    };
    signal.addEventListener('abort', onAbort, { once: true });
    pending.set(id, {
      isUnread,
      resolve: (value) => {
        settle();
        resolve(value);
      },
      reject: (reason) => {
        settle();
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
    // Stays attached: `terminate` before the connection is open emits an error of its own.
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

/** Lets a request go once the other side has shown the right certificate; not a byte of it goes before. */
const sendAfterPinCheck = (pin: CertificatePin) => (request: ClientRequest) => {
  request.once('socket', (socket: TLSSocket) => {
    socket.once('secureConnect', () => {
      const refusal = pin.refuse(socket);
      if (refusal) request.destroy(refusal);
      else request.end();
    });
  });
};

/** How an answer begins and ends that is no refusal (middleware: api/base/server/ws_handler/rpc.py). */
const resultPrefix = /^\{"jsonrpc": ?"2\.0", ?"result": ?/;
const idSuffix = /, ?"id": ?(\d+)\}$/;

/** Takes an answer that is to be left as it is; false when it has to be read to know what it is. */
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

/** Has what comes faster than it may be read later. */
function limitReceiveRate(socket: WebSocket, clock: Clock, over: AbortSignal): (bytes: number) => void {
  const pace = new ReadThrottle(clock, receiveLimits);
  return (bytes) => {
    const seconds = pace.spend(bytes, 1);
    // What was read before the pause still comes.
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
  // Nothing was asked for that could be so long.
  if (pending.size === 0 && data.length > receiveLimits.newsBytes) return;
  let message: { id?: unknown; method?: unknown; params?: unknown; result?: unknown; error?: unknown };
  try {
    message = JSON.parse(String(data));
  } catch {
    // Not JSON: nobody waits for it, and the calls that wait have their deadlines.
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
 * Pings while the connection lives, and ends it when nothing was heard since a ping and the next is due. A process that stood
 * still (SIGSTOP, a paused machine) wakes to its timers before it reads what came meanwhile: it pings once more.
 */
function keepAlive(socket: WebSocket, clock: Clock, over: AbortSignal): void {
  let isHeard = true;
  const hear = () => {
    isHeard = true;
  };
  socket.on('pong', hear);
  socket.on('message', hear);
  const beat = async () => {
    while (!over.aborted) {
      const since = clock.monotonic();
      await clock.sleep(pingIntervalSeconds * 1000, over);
      const stoodStill = clock.monotonic() - since > 1.5 * pingIntervalSeconds * 1000;
      if (!isHeard && !stoodStill) return socket.terminate();
      isHeard = false;
      socket.ping();
    }
  };
  // The only way out with an error is the end of the connection, which is known by then.
  beat().catch(() => {});
}
