import { ArgumentsError, CallError, errnoName, errnos, PythonException } from '../middleware/errors.ts';
import { type FrameReading, parseFrame, type RpcRequest, type WireFormat } from './wire-format.ts';

/** The error codes of JSON-RPC, and those of TrueNAS from -32000 on. */
export const jsonRpcCodes = {
  invalidJson: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  tooManyCalls: -32000,
  callError: -32001,
} as const;

/** JSON-RPC 2.0 as the middleware speaks it (api/base/server/ws_handler/rpc.py). Since 26 a trace has no frames. */
export const createJsonRpcWireFormat = (hasFrames: boolean): WireFormat => ({
  read: (text, client) => readFrame(text, client.identity !== undefined),
  result: (id, value) => ({ jsonrpc: '2.0', result: value ?? null, id }),
  failure: (id, error) => toFailure(id, error, hasFrames),
  missing: (id) => failure(id, jsonRpcCodes.methodNotFound, 'Method does not exist'),
  tooMany: (id, held) =>
    failure(id, jsonRpcCodes.tooManyCalls, `Maximum number of concurrent calls (${held}) has exceeded`),
  madeUp: (id, error) => (typeof error['code'] === 'number' ? { jsonrpc: '2.0', error, id: id ?? null } : undefined),
  event: (params) => ({ jsonrpc: '2.0', method: 'collection_update', params }),
  answersJobsAtOnce: false,
});

function readFrame(text: string, isLoggedIn: boolean): FrameReading {
  const frame = parseFrame(text, isLoggedIn);
  if (frame.kind === 'close') return frame;
  if (frame.kind === 'broken') return immediateError(null, jsonRpcCodes.invalidJson, frame.why);
  return toRequest(frame.message);
}

function toRequest(message: Record<string, unknown>): FrameReading {
  const { id, method, params = [] } = message;
  const complaint = envelopeProblem(message);
  if (complaint)
    return 'id' in message ? immediateError(id, jsonRpcCodes.invalidRequest, complaint) : { kind: 'nothing' };
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

function immediateError(id: unknown, code: number, message: string): FrameReading {
  return { kind: 'answer', answer: failure(id, code, message) };
}

function failure(id: unknown, code: number, message: string, data?: object): object {
  return { jsonrpc: '2.0', error: { code, message, ...(data ? { data } : {}) }, id: id ?? null };
}

function toFailure(id: unknown, error: unknown, hasFrames: boolean): object {
  if (error instanceof ArgumentsError) {
    const data = describe(errnos.EINVAL, error.reason, error.refusals, error.name, hasFrames);
    return failure(id, jsonRpcCodes.invalidParams, 'Invalid params', data);
  }
  if (error instanceof CallError) {
    const data = describe(error.errno, error.reason, error.extra, 'CallError', hasFrames);
    return failure(id, jsonRpcCodes.callError, 'Method call error', data);
  }
  const raw = toRawException(error);
  const data = describe(errnos.EINVAL, raw.message || raw.repr, null, raw.name, hasFrames);
  return failure(id, jsonRpcCodes.callError, 'Method call error', data);
}

function describe(errno: number, reason: string, extra: unknown, name: string, hasFrames: boolean): object {
  const fingerprint = traceOf(name, reason, hasFrames);
  return { error: errno, errname: errnoName(errno), reason, trace: fingerprint, extra };
}

/** The `trace` of an error. */
export function traceOf(name: string, reason: string, hasFrames: boolean): object {
  return {
    class: name,
    ...(hasFrames ? { frames: [] } : {}),
    formatted: `Traceback (most recent call last):\n${name}: ${reason}\n`,
    repr: `${name}(${JSON.stringify(reason)})`,
  };
}

/** A thrown value that is not one of the middleware's errors. */
export function toRawException(error: unknown): PythonException {
  if (error instanceof PythonException) return error;
  return error instanceof Error
    ? new PythonException(error.name, error.message)
    : new PythonException('Exception', String(error));
}
