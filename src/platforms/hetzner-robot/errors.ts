import { ProviderError } from '../../lib/errors.ts';
import type { HttpResponse } from '../../lib/net/http.ts';
import { trimTrailing } from '../../lib/text.ts';
import { HetznerRobotError, type HetznerRobotErrorCode } from './error-codes.ts';

/** An error answer of the webservice: `{"error":{"status":404,"code":"SERVER_NOT_FOUND","message":"…"}}`. */
export class RobotApiError extends Error {
  readonly status: number;
  /** Robot's error code; empty without an error body, as when a proxy answers. */
  readonly code: string;
  /** INVALID_INPUT: names of the parameters. */
  readonly missing: readonly string[];
  readonly invalid: readonly string[];
  /** RATE_LIMIT_EXCEEDED: calls per interval, and the interval in seconds. */
  readonly maxCalls: number | undefined;
  readonly intervalSeconds: number | undefined;
  /** Seconds from a `Retry-After` header. */
  readonly retryAfterSeconds: number | undefined;

  constructor(reply: Pick<HttpResponse, 'status' | 'headers'>, body: unknown) {
    const { code, message, missing, invalid, interval, ...rest } = asRecord(asRecord(body)['error']);
    super(typeof message === 'string' ? message : '');
    this.name = 'RobotFault';
    this.status = reply.status;
    this.code = typeof code === 'string' ? code : '';
    this.missing = namesIn(missing);
    this.invalid = namesIn(invalid);
    // The first name is documented, the other was seen (hrobot-rs: errata.md).
    this.maxCalls = countIn(rest['max_request'] ?? rest['max_requests']);
    this.intervalSeconds = secondsIn(interval);
    this.retryAfterSeconds = secondsIn(reply.headers['retry-after']);
  }

  /** The hourly limit is reached. A proxy may answer so without an error body. */
  get isRateLimit(): boolean {
    return this.code === 'RATE_LIMIT_EXCEEDED' || (this.code === '' && [403, 429].includes(this.status));
  }

  /** A proxy answered, or the webservice is down: the call was not processed, and the credentials were not checked. */
  get isOutage(): boolean {
    return [502, 503, 504].includes(this.status) || (this.status === 403 && !this.isRateLimit);
  }
}

/** The call had no answer. */
export class NoResponseError extends Error {
  /** `not-sent`: no connection. `late`: the timeout passed. `lost`: the connection ended before the answer. */
  readonly kind: 'not-sent' | 'untrusted' | 'late' | 'lost';

  constructor(kind: NoResponseError['kind'], cause: unknown) {
    super(cause instanceof Error ? cause.message : String(cause), { cause });
    this.name = 'NoAnswer';
    this.kind = kind;
  }
}

/**
 * The one place that maps a failed call to an error code. `call` is shown to users. Errors that are not of the
 * webservice are returned unchanged.
 */
export function toRobotError(error: unknown, call: string, retryAfterSeconds?: number): unknown {
  const options = { cause: error, ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }) };
  if (error instanceof NoResponseError)
    return new HetznerRobotError(noResponseCode(error, call), `Call: ${call}.`, options);
  if (!(error instanceof RobotApiError)) return error;
  const wait = retryAfterSeconds ?? defaultRetrySeconds[errorCodeOf(error)];
  return new HetznerRobotError(errorCodeOf(error), `${call}: ${describeApiError(error)}`, {
    cause: error,
    ...(wait === undefined ? {} : { retryAfterSeconds: wait }),
  });
}

/** Retry delay where the webservice names none. */
const defaultRetrySeconds: Partial<Record<HetznerRobotErrorCode, number>> = { ROBOT_IN_PROCESS: 10 };

/** Robot's own error code, e.g. `NOT_FOUND`. */
export const robotErrorCodeOf = (error: unknown): string | undefined =>
  error instanceof ProviderError && error.cause instanceof RobotApiError ? error.cause.code : undefined;

/** True when `error` carries one of these codes. */
export function hasCode(error: unknown, ...codes: HetznerRobotErrorCode[]): error is ProviderError {
  return error instanceof ProviderError && codes.some((code) => code === error.code);
}

function noResponseCode({ kind }: NoResponseError, call: string): HetznerRobotErrorCode {
  if (kind === 'untrusted') return 'ROBOT_TLS_UNTRUSTED';
  if (kind === 'late') return 'DEADLINE_EXCEEDED';
  return kind === 'lost' && !/^GET\b/.test(call) ? 'ROBOT_OUTCOME_UNKNOWN' : 'ROBOT_UNREACHABLE';
}

/** Codes that the rules by suffix would map wrongly. */
const codeByRobotCode: Readonly<Record<string, HetznerRobotErrorCode>> = {
  UNAUTHORIZED: 'ROBOT_CREDENTIALS_REFUSED',
  SERVER_NOT_FOUND: 'ROBOT_SERVER_UNKNOWN',
  RESET_MANUAL_ACTIVE: 'ROBOT_RESET_MANUAL_ACTIVE',
  FAILOVER_LOCKED: 'ROBOT_IN_PROCESS',
  FAILOVER_NOT_COMPLETE: 'ROBOT_CALL_FAILED',
  FAILOVER_ALREADY_ROUTED: 'ROBOT_CONFLICT',
  // These two appear in clients and in no documentation.
  BOOT_ALREADY_ENABLED: 'ROBOT_BOOT_ALREADY_ACTIVE',
  BOOT_BLOCKED: 'ROBOT_IN_PROCESS',
  WINDOWS_OUTDATED_VERSION: 'ROBOT_NOT_AVAILABLE',
  FIREWALL_CANNOT_BE_DISABLED: 'ROBOT_CONFLICT',
  VSWITCH_VLAN_NOT_UNIQUE: 'ROBOT_CONFLICT',
  MAC_ALREADY_SET: 'ROBOT_CONFLICT',
  CONFLICT: 'ROBOT_CONFLICT',
  INTERNAL_ERROR: 'ROBOT_CALL_FAILED',
  INVALID_INPUT: 'ROBOT_REFUSED',
};

/** Rules by the suffix of the code, for any kind of object. */
const codeBySuffix: readonly (readonly [RegExp, HetznerRobotErrorCode])[] = [
  [/_IN_PROCESS$/, 'ROBOT_IN_PROCESS'],
  [/_NOT_AVAILABLE$|_MISSING_ADDON$/, 'ROBOT_NOT_AVAILABLE'],
  [/(?:^|_)NOT_FOUND$/, 'ROBOT_NOT_FOUND'],
  [/_ALREADY_EXISTS$/, 'ROBOT_CONFLICT'],
  [/_LIMIT_(?:REACHED|EXCEEDED)$/, 'ROBOT_LIMIT_REACHED'],
  [/_FAILED$/, 'ROBOT_CALL_FAILED'],
];

function errorCodeOf(fault: RobotApiError): HetznerRobotErrorCode {
  if (fault.status === 401) return 'ROBOT_CREDENTIALS_REFUSED';
  if (fault.isRateLimit) return 'ROBOT_RATE_LIMITED';
  if (fault.status === 403) return 'ROBOT_FORBIDDEN';
  if (fault.isOutage) return 'ROBOT_UNAVAILABLE';
  if (Object.hasOwn(codeByRobotCode, fault.code)) return codeByRobotCode[fault.code] ?? 'ROBOT_CALL_FAILED';
  return codeBySuffix.find(([ending]) => ending.test(fault.code))?.[1] ?? errorCodeOfStatus(fault.status);
}

function errorCodeOfStatus(status: number): HetznerRobotErrorCode {
  if (status >= 500) return 'ROBOT_CALL_FAILED';
  // A redirect is not followed: it would send the credentials elsewhere.
  return status >= 400 ? 'ROBOT_REFUSED' : 'ROBOT_REPLY_UNKNOWN';
}

/** Maximum length of an error text. */
const maxMessageCharacters = 1000;

/** The refusal on one line: Robot's code, its message, and the parameters at fault. */
function describeApiError(fault: RobotApiError): string {
  const sentence = fault.message.replace(/\s+/g, ' ').trim().slice(0, 200);
  const parts = [
    fault.code || `HTTP ${fault.status}`,
    ...(sentence === '' ? [] : [sentence]),
    ...(fault.missing.length > 0 ? [`missing ${fault.missing.join(', ')}`] : []),
    ...(fault.invalid.length > 0 ? [`invalid ${fault.invalid.join(', ')}`] : []),
  ];
  return `${trimTrailing(parts.join(': ').slice(0, maxMessageCharacters), /[.\s]/)}.`;
}

function namesIn(list: unknown): readonly string[] {
  const all = Array.isArray(list) ? list : [];
  return all.filter((name): name is string => typeof name === 'string').map((name) => name.slice(0, 50));
}

/** Upper limit of an interval: Robot's own intervals are hours. */
const maxRetryAfterSeconds = 24 * 3600;

function secondsIn(value: unknown): number | undefined {
  const seconds = countIn(value);
  return seconds === undefined ? undefined : Math.min(seconds, maxRetryAfterSeconds);
}

function countIn(value: unknown): number | undefined {
  const number = typeof value === 'string' && /^\d+$/.test(value) ? Number(value) : value;
  return typeof number === 'number' && Number.isFinite(number) && number >= 0 ? number : undefined;
}

function asRecord(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}
