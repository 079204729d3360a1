import type { KubeErrorOptions } from '../errors.ts';
import type { RequestTarget } from '../transport/request.ts';
import { maxErrorCauses, maxErrorMessageLength, maxServerRetryAfterSeconds } from '../transport/response-limits.ts';

/** The fields of the `Status` object of an error response that this client reads. */
export interface ApiStatus {
  readonly kind?: string;
  readonly message?: string;
  readonly reason?: string;
  readonly code?: number;
  readonly details?: {
    readonly name?: string;
    readonly group?: string;
    readonly kind?: string;
    readonly uid?: string;
    readonly retryAfterSeconds?: number;
    readonly causes?: { field?: string; message?: string; reason?: string }[];
  };
}

/** Reasons for error responses without a `Status`, e.g. from a proxy. The names are those of the API server. */
const reasonsByStatusCode: Readonly<Record<number, string>> = {
  400: 'BadRequest',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'NotFound',
  409: 'Conflict',
  410: 'Gone',
  422: 'Invalid',
  429: 'TooManyRequests',
  500: 'InternalError',
  503: 'ServiceUnavailable',
  504: 'Timeout',
};

/** Converts a response with a status of 400 or above into the parts of a {@link KubeError}. */
export function parseErrorResponse(
  request: RequestTarget,
  code: number,
  retryAfter: string | string[] | undefined,
  text: string,
): KubeErrorOptions {
  const status = tryParseStatus(text);
  const message = status?.message || text.slice(0, 200).trim() || 'no explanation';
  return {
    ...parseApiStatus(status ?? {}),
    status: code,
    reason: status?.reason || reasonsByStatusCode[code] || 'Unknown',
    message: `${request.method} ${request.path}: ${code} ${shortenMessage(message)}`,
    retryAfterSeconds: parseRetryAfter(retryAfter) ?? clampRetryAfter(status?.details?.retryAfterSeconds),
  };
}

/** Converts a `Status` object, from an error response or from a watch event, into the parts of a {@link KubeError}. */
export function parseApiStatus(status: ApiStatus): KubeErrorOptions {
  const { causes, retryAfterSeconds, ...details } = status.details ?? {};
  return {
    status: status.code ?? 500,
    reason: status.reason || reasonsByStatusCode[status.code ?? 500] || 'Unknown',
    message: shortenMessage(status.message ?? 'no explanation'),
    causes: causes
      ?.slice(0, maxErrorCauses)
      .map((cause) => ({ ...cause, message: shortenMessage(cause.message ?? '') })),
    details,
    retryAfterSeconds: clampRetryAfter(retryAfterSeconds),
  };
}

/** Accepts any type: a server may send something else than a string as the message. */
function shortenMessage(given: unknown): string {
  const text = typeof given === 'string' ? given : 'no explanation';
  return text.length <= maxErrorMessageLength ? text : `${text.slice(0, maxErrorMessageLength - 1)}…`;
}

/** Returns undefined for anything but a number of seconds. Caps the value at the longest useful wait. */
function clampRetryAfter(given: unknown): number | undefined {
  if (typeof given !== 'number' || !Number.isFinite(given)) return undefined;
  return Math.min(Math.max(0, given), maxServerRetryAfterSeconds);
}

function tryParseStatus(text: string): ApiStatus | undefined {
  try {
    const parsed = JSON.parse(text) as ApiStatus | null;
    return parsed?.kind === 'Status' ? parsed : undefined;
  } catch {
    return undefined; // A proxy sends a page or plain text: the caller shows its beginning.
  }
}

/** Converts `Retry-After` to seconds. The header may also hold a date. */
function parseRetryAfter(header: string | string[] | undefined): number | undefined {
  const text = Array.isArray(header) ? header[0] : header;
  if (!text) return undefined;
  const seconds = Number(text);
  if (Number.isFinite(seconds)) return clampRetryAfter(seconds);
  const date = Date.parse(text);
  return clampRetryAfter(Math.ceil((date - Date.now()) / 1000));
}

/** Describes a call that got no valid response. */
export function describeNoResponse(
  request: RequestTarget,
  reason: string,
  why: string,
  cause?: unknown,
): KubeErrorOptions {
  return { status: 0, reason, message: `${request.method} ${request.path}: ${why}`, cause };
}

/** The code of an error from Node or undici is more precise than its message. */
export function describeNetworkError(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const code = 'code' in error && typeof error.code === 'string' ? error.code : undefined;
  if (error instanceof AggregateError && !error.message) return code ?? 'no address could be reached';
  return code && !error.message.includes(code) ? `${error.message} (${code})` : error.message;
}
