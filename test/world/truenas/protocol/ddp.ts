import { randomUUID } from 'node:crypto';
import { ArgumentsError, CallError, errnoName, errnos } from '../middleware/errors.ts';
import type { ClientConnection } from './client-connection.ts';
import { toRawException, traceOf } from './json-rpc.ts';
import { type FrameReading, parseFrame, type RpcRequest, type WireFormat } from './wire-format.ts';

/**
 * The older protocol at `/websocket`, for one connection: a handshake, then methods and subscriptions. Other frames are
 * ignored, also pings (middleware: apps/websocket_app.py).
 */
export function createDdpWireFormat(hasFrames: boolean): WireFormat {
  let isConnected = false;
  const error = (id: unknown, reply: ErrorReply): object => ({
    msg: 'result',
    id,
    error: {
      error: reply.errno,
      errname: errnoName(reply.errno),
      type: reply.type ?? null,
      reason: reply.reason,
      trace: reply.thrown === undefined ? null : traceOf(reply.thrown, reply.reason, hasFrames),
      extra: reply.extra ?? null,
    },
  });

  const read = (text: string, client: ClientConnection): FrameReading => {
    const frame = parseFrame(text, client.identity !== undefined);
    if (frame.kind === 'close') return frame;
    if (frame.kind === 'broken') return { kind: 'close', code: 1007, reason: frame.why };
    const { message } = frame;
    const { msg, id } = message;
    // A missing key ends the connection with its name, as a Python KeyError does.
    if (msg === undefined) return { kind: 'close', code: 1011, reason: "'msg'" };
    if (msg === 'connect') {
      isConnected = message['version'] === '1';
      return immediateReply(
        isConnected ? { msg: 'connected', session: randomUUID() } : { msg: 'failed', version: '1' },
      );
    }
    if (!isConnected) return immediateReply({ msg: 'failed', version: '1' });
    if (msg === 'method') return readMethod(message, error);
    if (msg === 'unsub') client.unsubscribe(String(id));
    if (msg !== 'sub') return { kind: 'nothing' };
    if (!client.maySubscribe(String(message['name']).split(':')[0] ?? '')) {
      return immediateReply(error(id, { errno: errnos.EACCES, reason: 'Not authorized' }));
    }
    client.subscribe(String(message['name']), String(id));
    return immediateReply({ msg: 'ready', subs: [id] });
  };

  return {
    read,
    result: (id, value) => ({ id, msg: 'result', result: value ?? null }),
    failure: (id, thrown) => error(id, describe(thrown)),
    missing: (id, method, service) => error(id, describe(noSuchMethod(method, service))),
    tooMany: (id, held) => {
      const reason = `Maximum number of concurrent calls (${held}) has exceeded.`;
      return error(id, { errno: errnos.ETOOMANYREFS, reason });
    },
    madeUp: () => undefined,
    event: ({ collection, msg, id, fields, extra }) => ({
      msg,
      collection,
      id,
      ...(fields ? { fields } : {}),
      ...(extra ? { extra } : {}),
    }),
    answersJobsAtOnce: true,
  };
}

interface ErrorReply {
  readonly errno: number;
  readonly reason: string;
  /** The Python class name of a thrown error; absent for others. */
  readonly thrown?: string;
  readonly type?: string;
  readonly extra?: unknown;
}

const immediateReply = (message: object): FrameReading => ({ kind: 'answer', answer: message });

function readMethod(
  message: Record<string, unknown>,
  error: (id: unknown, reply: ErrorReply) => object,
): Extract<FrameReading, { kind: 'answer' | 'request' }> {
  const { id, method, params } = message;
  const refuse = (reason: string) => ({ kind: 'answer', answer: error(id, { errno: errnos.EINVAL, reason }) }) as const;
  if (method === undefined) return refuse("Message is malformed: 'method' is absent.");
  if (params && !Array.isArray(params)) return refuse('`params` must be a list.');
  const request = { id: id as RpcRequest['id'], method: String(method), params: (params as unknown[] | null) ?? [] };
  return { kind: 'request', request };
}

function noSuchMethod(name: string, service: boolean): CallError {
  const dot = name.lastIndexOf('.');
  const [namespace, method] = [name.slice(0, Math.max(dot, 0)), name.slice(dot + 1)];
  const text = service ? `Method '${method}' not found in '${namespace}'` : `Service '${namespace}' not found`;
  return new CallError(text, errnos.ENOMETHOD);
}

/** A list of errors has the errno EAGAIN; a single one has its own. */
function describe(thrown: unknown): ErrorReply {
  if (thrown instanceof ArgumentsError) {
    const isList = thrown.name === 'ValidationErrors';
    const errno = isList ? errnos.EAGAIN : (thrown.refusals[0]?.[2] ?? errnos.EINVAL);
    return { errno, reason: thrown.reason, thrown: thrown.name, type: 'VALIDATION', extra: thrown.refusals };
  }
  if (thrown instanceof CallError) {
    return { errno: thrown.errno, reason: thrown.reason, thrown: 'CallError', extra: thrown.extra };
  }
  const raw = toRawException(thrown);
  return { errno: errnos.EINVAL, reason: raw.message || raw.repr, thrown: raw.name };
}
