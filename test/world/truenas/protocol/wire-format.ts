import type { ClientConnection } from './client-connection.ts';
import type { CollectionEvent } from './collection-events.ts';

/** A call as it came off the wire. */
export interface RpcRequest {
  /** `undefined`: a notification, which is never answered. */
  readonly id: string | number | null | undefined;
  readonly method: string;
  readonly params: readonly unknown[];
}

/** What became of a frame: a request, an answer to send at once, nothing at all, or the end of the connection. */
export type FrameReading =
  | { readonly kind: 'request'; readonly request: RpcRequest }
  | { readonly kind: 'answer'; readonly answer: object }
  | { readonly kind: 'nothing' }
  | { readonly kind: 'close'; readonly code: number; readonly reason: string };

/** How one of the two protocols is written: JSON-RPC 2.0 below `/api`, and the older one at `/websocket`. */
export interface WireFormat {
  /** Reads one text frame. */
  read(text: string, client: ClientConnection): FrameReading;
  result(id: RpcRequest['id'], value: unknown): object;
  /** Whatever a method threw, as an answer. */
  failure(id: RpcRequest['id'], error: unknown): object;
  /** The answer to a method that is not there; `service` says whether others of its namespace are. */
  missing(id: RpcRequest['id'], method: string, service: boolean): object;
  /** The answer to a call beyond those that are held. */
  tooMany(id: RpcRequest['id'], held: number): object;
  /** An error that a test made up whole, in the protocol's own form; undefined when it is not one. */
  madeUp(id: RpcRequest['id'], error: Record<string, unknown>): object | undefined;
  event(event: Omit<CollectionEvent, 'owner'>): object;
  /** Jobs are answered by their number, whatever `core.set_options` says. */
  readonly answersJobsAtOnce: boolean;
}

const limits = { anonymous: 8192, known: 65536, extended: 2_097_152 };
const extendedMethods = new Set(['filesystem.file_receive', 'failover.datastore.sql']);

/** A frame with its JSON read, or the end of the connection when it is too long. */
export type ParsedFrame =
  | { readonly kind: 'close'; readonly code: number; readonly reason: string }
  | { readonly kind: 'broken'; readonly why: string }
  | { readonly kind: 'message'; readonly message: Record<string, unknown> };

/** What both protocols do with a frame: its size, its JSON, and that it is one object. */
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
