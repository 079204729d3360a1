import type { KubeFailure } from './errors.ts';
import { longestWaitSeconds, refusalCauses, refusalCharacters } from './limits.ts';
import type { Target } from './transport.ts';

/** The `Status` object of a refusal, as far as we read it. */
export interface Status {
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

/** Reasons for answers that came without a `Status`, e.g. from a proxy. Names are those of the API server. */
const reasons: Readonly<Record<number, string>> = {
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

/** An answer of 400 or above as the parts of a {@link KubeError}. */
export function refusalOf(
  request: Target,
  code: number,
  retryAfter: string | string[] | undefined,
  text: string,
): KubeFailure {
  const status = statusIn(text);
  const message = status?.message || text.slice(0, 200).trim() || 'no explanation';
  return {
    ...failureOf(status ?? {}),
    status: code,
    reason: status?.reason || reasons[code] || 'Unknown',
    message: `${request.method} ${request.path}: ${code} ${shortened(message)}`,
    retryAfterSeconds: secondsOf(retryAfter) ?? waitOf(status?.details?.retryAfterSeconds),
  };
}

/** A `Status` object, from a refusal or from inside a watch, as the parts of a {@link KubeError}. */
export function failureOf(status: Status): KubeFailure {
  const { causes, retryAfterSeconds, ...details } = status.details ?? {};
  return {
    status: status.code ?? 500,
    reason: status.reason || reasons[status.code ?? 500] || 'Unknown',
    message: shortened(status.message ?? 'no explanation'),
    causes: causes?.slice(0, refusalCauses).map((cause) => ({ ...cause, message: shortened(cause.message ?? '') })),
    details,
    retryAfterSeconds: waitOf(retryAfterSeconds),
  };
}

/** Servers write what they like where a sentence is expected. */
function shortened(given: unknown): string {
  const text = typeof given === 'string' ? given : 'no explanation';
  return text.length <= refusalCharacters ? text : `${text.slice(0, refusalCharacters - 1)}…`;
}

/** Undefined for what is no number of seconds. Nobody is kept waiting for longer than it makes sense to wait. */
function waitOf(given: unknown): number | undefined {
  if (typeof given !== 'number' || !Number.isFinite(given)) return undefined;
  return Math.min(Math.max(0, given), longestWaitSeconds);
}

function statusIn(text: string): Status | undefined {
  try {
    const parsed = JSON.parse(text) as Status | null;
    return parsed?.kind === 'Status' ? parsed : undefined;
  } catch {
    return undefined; // A proxy's page or a bare sentence: the caller shows its beginning.
  }
}

/** `Retry-After` as seconds; the header may also be a date. */
function secondsOf(header: string | string[] | undefined): number | undefined {
  const text = Array.isArray(header) ? header[0] : header;
  if (!text) return undefined;
  const seconds = Number(text);
  if (Number.isFinite(seconds)) return waitOf(seconds);
  const date = Date.parse(text);
  return waitOf(Math.ceil((date - Date.now()) / 1000));
}

/** The failure of a call that got no proper answer. */
export function noAnswer(request: Target, reason: string, why: string, cause?: unknown): KubeFailure {
  return { status: 0, reason, message: `${request.method} ${request.path}: ${why}`, cause };
}

/** Node's and undici's errors carry a code that says more than their message. */
export function whyUnreachable(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const code = 'code' in error && typeof error.code === 'string' ? error.code : undefined;
  if (error instanceof AggregateError && !error.message) return code ?? 'no address could be reached';
  return code && !error.message.includes(code) ? `${error.message} (${code})` : error.message;
}
