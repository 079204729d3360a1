import { CallError, errnoName, errnos, RawException, ValidationError } from './errors.ts';
import { isRecord } from './model.ts';

/** JSON-RPC 2.0 as the middleware speaks it (api/base/server/ws_handler/rpc.py). */
export interface Request {
  /** `undefined`: a notification, which is never answered. */
  readonly id: string | number | null | undefined;
  readonly method: string;
  readonly params: readonly unknown[];
}

/** The error codes of JSON-RPC, and those of TrueNAS from -32000 on. */
export const codes = {
  invalidJson: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  tooManyCalls: -32000,
  callError: -32001,
} as const;

const limits = { anonymous: 8192, known: 65536, extended: 2_097_152 };
const extendedMethods = new Set(['filesystem.file_receive', 'failover.datastore.sql']);

/** What became of a frame: a request, an answer to send at once, nothing at all, or the end of the connection. */
export type Reading =
  | { readonly kind: 'request'; readonly request: Request }
  | { readonly kind: 'answer'; readonly answer: object }
  | { readonly kind: 'nothing' }
  | { readonly kind: 'close'; readonly code: number; readonly reason: string };

/** Reads one text frame. */
export function readFrame(text: string, isLoggedIn: boolean): Reading {
  const length = [...text].length;
  if (!isLoggedIn && length > limits.anonymous) {
    return { kind: 'close', code: 1007, reason: 'Anonymous connection max message length is 8 kB' };
  }
  const tooBig: Reading = { kind: 'close', code: 1009, reason: 'Max message length is 64 kB' };
  if (length > limits.extended) return tooBig;
  let message: unknown;
  try {
    message = JSON.parse(text);
  } catch (error) {
    return refusal(null, codes.invalidJson, error instanceof Error ? error.message : String(error));
  }
  if (Array.isArray(message)) {
    return refusal(null, codes.invalidJson, 'Batch messages are not supported at this time');
  }
  if (!isRecord(message)) return refusal(null, codes.invalidJson, 'Invalid Message Format');
  if (length > limits.known && !extendedMethods.has(String(message['method']))) return tooBig;
  return toRequest(message);
}

function toRequest(message: Record<string, unknown>): Reading {
  const { id, method, params = [] } = message;
  const complaint = complain(message);
  if (complaint) return 'id' in message ? refusal(id, codes.invalidRequest, complaint) : { kind: 'nothing' };
  const request = { id: id as Request['id'], method: String(method), params: params as unknown[] };
  return { kind: 'request', request };
}

function complain(message: Record<string, unknown>): string | undefined {
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

function refusal(id: unknown, code: number, message: string): Reading {
  return { kind: 'answer', answer: failure(id, code, message) };
}

/** An answer that is an error. */
export function failure(id: unknown, code: number, message: string, data?: object): object {
  return { jsonrpc: '2.0', error: { code, message, ...(data ? { data } : {}) }, id: id ?? null };
}

/** Whatever a method threw, as the `error` of an answer. */
export function toFailure(id: unknown, error: unknown, hasFrames: boolean): object {
  if (error instanceof ValidationError) {
    const data = describe(errnos.EINVAL, error.reason, error.refusals, error.name, hasFrames);
    return failure(id, codes.invalidParams, 'Invalid params', data);
  }
  if (error instanceof CallError) {
    const data = describe(error.errno, error.reason, error.extra, 'CallError', hasFrames);
    return failure(id, codes.callError, 'Method call error', data);
  }
  const raw = error instanceof RawException ? error : new RawException(nameOf(error), messageOf(error));
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

const nameOf = (error: unknown) => (error instanceof Error ? error.name : 'Exception');
const messageOf = (error: unknown) => (error instanceof Error ? error.message : String(error));
