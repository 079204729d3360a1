import type { ClientConnection } from './client-connection.ts';
import type { CollectionEvent } from './collection-events.ts';

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

/** One of the two protocols: JSON-RPC 2.0 below `/api`, and the older one at `/websocket`. */
export interface WireFormat {
  /** Parses one text frame. */
  read(text: string, client: ClientConnection): FrameReading;
  result(id: RpcRequest['id'], value: unknown): object;
  /** The answer for an error that a method threw. */
  failure(id: RpcRequest['id'], error: unknown): object;
  /** The answer to an unknown method; `service` says whether its namespace has other methods. */
  missing(id: RpcRequest['id'], method: string, service: boolean): object;
  /** The answer to a call beyond the queue's limit. */
  tooMany(id: RpcRequest['id'], held: number): object;
  /** A complete error from a test, in the protocol's own form; undefined when it is not one. */
  madeUp(id: RpcRequest['id'], error: Record<string, unknown>): object | undefined;
  event(event: Omit<CollectionEvent, 'owner'>): object;
  /** Jobs are answered with their number, whatever `core.set_options` says. */
  readonly answersJobsAtOnce: boolean;
}

const limits = { anonymous: 8192, known: 65536, extended: 2_097_152 };
const extendedMethods = new Set(['filesystem.file_receive', 'failover.datastore.sql']);

/** A frame with its JSON parsed, or the end of the connection when it is too long. */
export type ParsedFrame =
  | { readonly kind: 'close'; readonly code: number; readonly reason: string }
  | { readonly kind: 'broken'; readonly why: string }
  | { readonly kind: 'message'; readonly message: Record<string, unknown> };

/** The checks that both protocols make on a frame: its size, its JSON, and that it is one object. */
export function parseFrame(text: string, isLoggedIn: boolean): ParsedFrame {
  const length = [...text].length;
  if (!isLoggedIn && length > limits.anonymous) {
    return { kind: 'close', code: 1007, reason: 'Anonymous connection max message length is 8 kB' };
  }
  const tooBig: ParsedFrame = { kind: 'close', code: 1009, reason: 'Max message length is 64 kB' };
  if (length > limits.extended) return tooBig;
  let message: unknown;
  try {
    message = JSON.parse(text);
  } catch (error) {
    return { kind: 'broken', why: error instanceof Error ? error.message : String(error) };
  }
  if (Array.isArray(message)) return { kind: 'broken', why: 'Batch messages are not supported at this time' };
  if (typeof message !== 'object' || message === null) return { kind: 'broken', why: 'Invalid Message Format' };
  const record = message as Record<string, unknown>;
  if (length > limits.known && !extendedMethods.has(String(record['method']))) return tooBig;
  return { kind: 'message', message: record };
}
