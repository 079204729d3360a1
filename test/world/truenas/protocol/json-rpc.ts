import { ArgumentsError, CallError, errnoName, errnos, PythonException } from '../middleware/errors.ts';

/** A call as received. */
export interface RpcRequest {
  /** `undefined`: a notification, which is never answered. */
  readonly id: string | number | null | undefined;
  readonly method: string;
  readonly params: readonly unknown[];
}

/** The result of a frame: a request, an immediate answer, nothing, or the end of the connection. */
export type FrameReading =
  | { readonly kind: 'request'; readonly request: RpcRequest }
  | { readonly kind: 'answer'; readonly answer: object }
  | { readonly kind: 'nothing' }
  | { readonly kind: 'close'; readonly code: number; readonly reason: string };

/** The error codes of JSON-RPC, and those of TrueNAS from -32000 on. */
const codes = {
  invalidJson: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  tooManyCalls: -32000,
  callError: -32001,
} as const;

/** Characters of a frame, without and with a login. */
const limits = { anonymous: 8192, known: 65536 };

/** Parses one text frame of JSON-RPC 2.0 as the middleware does (api/base/server/ws_handler/rpc.py). */
export function readFrame(text: string, isLoggedIn: boolean): FrameReading {
  const length = [...text].length;
  if (!isLoggedIn && length > limits.anonymous) {
    return { kind: 'close', code: 1007, reason: 'Anonymous connection max message length is 8 kB' };
  }
  if (length > limits.known) return { kind: 'close', code: 1009, reason: 'Max message length is 64 kB' };
  let message: unknown;
  try {
    message = JSON.parse(text);
  } catch (error) {
    return immediateError(null, codes.invalidJson, error instanceof Error ? error.message : String(error));
  }
  if (Array.isArray(message))
    return immediateError(null, codes.invalidJson, 'Batch messages are not supported at this time');
  if (typeof message !== 'object' || message === null)
    return immediateError(null, codes.invalidJson, 'Invalid Message Format');
  return toRequest(message as Record<string, unknown>);
}

function toRequest(message: Record<string, unknown>): FrameReading {
  const { id, method, params = [] } = message;
  const complaint = envelopeProblem(message);
  if (complaint) return 'id' in message ? immediateError(id, codes.invalidRequest, complaint) : { kind: 'nothing' };
  const request = { id: id as RpcRequest['id'], method: String(method), params: params as unknown[] };
  return { kind: 'request', request };
}

function envelopeProblem(message: Record<string, unknown>): string | undefined {
  if (!('jsonrpc' in message)) return "Missing 'jsonrpc' member";
  if (message['jsonrpc'] !== '2.0') return "'jsonrpc' member must be of type string and must be exactly '2.0'";
  const { id } = message;
  const isId = id === undefined || id === null || typeof id === 'string' || Number.isInteger(id);
  if (!isId) return "'id' member must be of type null, string or number";
  if (!('method' in message)) return "Missing 'method' member";
  if (typeof message['method'] !== 'string' || message['method'] === '')
    return "'method' member must be of type string";
  return 'params' in message && !Array.isArray(message['params']) ? "'params' member must be of type array" : undefined;
}

const immediateError = (id: unknown, code: number, message: string): FrameReading => ({
  kind: 'answer',
  answer: failure(id, code, message),
});

function failure(id: unknown, code: number, message: string, data?: object): object {
  return { jsonrpc: '2.0', error: { code, message, ...(data ? { data } : {}) }, id: id ?? null };
}

export const resultReply = (id: RpcRequest['id'], value: unknown): object => ({
  jsonrpc: '2.0',
  result: value ?? null,
  id,
});

/** The answer to an unknown method. */
export const missingMethodReply = (id: RpcRequest['id']): object =>
  failure(id, codes.methodNotFound, 'Method does not exist');

/** The answer to a call beyond the queue's limit. */
export const tooManyCallsReply = (id: RpcRequest['id'], held: number): object =>
  failure(id, codes.tooManyCalls, `Maximum number of concurrent calls (${held}) has exceeded`);

/** The answer for an error that a method threw. Since 26 its trace has no frames. */
export function errorReply(id: RpcRequest['id'], error: unknown, hasFrames: boolean): object {
  if (error instanceof ArgumentsError) {
    const data = describe(errnos.EINVAL, error.reason, error.refusals, error.name, hasFrames);
    return failure(id, codes.invalidParams, 'Invalid params', data);
  }
  if (error instanceof CallError) {
    const data = describe(error.errno, error.reason, error.extra, 'CallError', hasFrames);
    return failure(id, codes.callError, 'Method call error', data);
  }
  const raw = toPythonException(error);
  const data = describe(errnos.EINVAL, raw.message || raw.repr, null, raw.name, hasFrames);
  return failure(id, codes.callError, 'Method call error', data);
}

function describe(errno: number, reason: string, extra: unknown, name: string, hasFrames: boolean): object {
  const trace = {
    class: name,
    ...(hasFrames ? { frames: [] } : {}),
    formatted: `Traceback (most recent call last):\n${name}: ${reason}\n`,
    repr: `${name}(${JSON.stringify(reason)})`,
  };
  return { error: errno, errname: errnoName(errno), reason, trace, extra };
}

/** A thrown value that is not one of the middleware's errors. */
function toPythonException(error: unknown): PythonException {
  if (error instanceof PythonException) return error;
  return error instanceof Error
    ? new PythonException(error.name, error.message)
    : new PythonException('Exception', String(error));
}
