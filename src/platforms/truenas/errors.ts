import { ProviderError } from '../../lib/errors.ts';
import { receiveLimits } from './api/receive-limits.ts';
import { TrueNasError, type TrueNasErrorCode } from './error-codes.ts';

/** An error object of JSON-RPC, with the fields of TrueNAS (middleware: api/base/server/ws_handler/rpc.py). */
export class RpcFault extends Error {
  readonly code: number;
  /** Errno of a failed call; 0 where there is none. */
  readonly errno: number;
  /** `[attribute, message, errno]` of each refused value. */
  readonly validationErrors: readonly RpcValidationError[];

  constructor(fault: {
    code: number;
    message: string;
    errno?: number;
    reason?: string;
    validationErrors?: readonly RpcValidationError[];
  }) {
    super((fault.reason?.trim() || fault.message).slice(0, receiveLimits.reasonCharacters));
    this.name = 'RpcFault';
    this.code = fault.code;
    this.errno = fault.errno ?? 0;
    this.validationErrors = fault.validationErrors ?? [];
  }
}

export interface RpcValidationError {
  /** `vm_create.name`, `attributes.path`…; empty when no value is at fault. */
  readonly attribute: string;
  readonly message: string;
  readonly errno: number;
}

/** The connection ended during a call, so its outcome is unknown. */
export class ConnectionLost extends Error {
  /** WebSocket close code; 0 where there was none. */
  readonly closeCode: number;

  constructor(closeCode: number, reason: string) {
    super(`connection closed${closeCode ? ` with ${closeCode}` : ''}${reason ? `: ${reason}` : ''}`);
    this.name = 'ConnectionLost';
    this.closeCode = closeCode;
  }
}

/** Parses the `error` member of a reply. Any part may be missing. */
export function parseFault(error: unknown): RpcFault {
  const body = asRecord(error);
  const data = asRecord(body['data']);
  const extra = Array.isArray(data['extra']) ? data['extra'] : [];
  return new RpcFault({
    code: Number(body['code'] ?? 0),
    message: String(body['message'] ?? 'error without a message'),
    errno: Number(data['error'] ?? 0),
    ...(typeof data['reason'] === 'string' ? { reason: data['reason'] } : {}),
    validationErrors: extra
      .filter(Array.isArray)
      .slice(0, receiveLimits.validationErrors)
      .map(([attribute, message, errno]) => ({
        attribute: typeof attribute === 'string' ? attribute.slice(0, receiveLimits.reasonCharacters) : '',
        message: String(message ?? '').slice(0, receiveLimits.reasonCharacters),
        errno: Number(errno ?? 0),
      })),
  });
}

/**
 * The one place that maps a failed call to an error code. `method` is shown to users. Errors that are not of the
 * protocol are returned unchanged.
 */
export function toTrueNasError(error: unknown, method: string): unknown {
  if (error instanceof ConnectionLost) {
    return new TrueNasError('TRUENAS_OUTCOME_UNKNOWN', `Call: ${method} (${error.message}).`, { cause: error });
  }
  if (!(error instanceof RpcFault)) return error;
  return new TrueNasError(codeOfFault(error), `${method}: ${describeFault(error)}`, { cause: error });
}

function codeOfFault(fault: RpcFault): TrueNasErrorCode {
  switch (fault.code) {
    case -32000:
      return 'TRUENAS_TOO_MANY_CALLS';
    case -32601:
      return 'TRUENAS_VERSION_UNSUPPORTED';
    case -32602:
      return validationErrorCode(fault);
    default:
      return callErrorCode(fault);
  }
}

/** -32602: values that the schema or a validation refused. */
function validationErrorCode(fault: RpcFault): TrueNasErrorCode {
  const text = describeFault(fault);
  const all = (test: (rejection: RpcValidationError) => boolean) =>
    fault.validationErrors.length > 0 && fault.validationErrors.every(test);
  // `X.get_instance`, `X.update` and `X.delete` of a missing object: no attribute, or `id`, and ENOENT.
  if (
    all(
      ({ attribute, errno, message }) =>
        ['', 'id'].includes(attribute) && (errno === 2 || /does not exist/.test(message)),
    )
  ) {
    return 'TRUENAS_NOT_FOUND';
  }
  if (/more than 80% of your available space/.test(text)) return 'TRUENAS_POOL_FULL';
  if (/zpool \([^()]*\) does not exist|specify a pool which exists/.test(text)) return 'TRUENAS_POOL_UNKNOWN';
  if (/must be unlocked/.test(text)) return 'TRUENAS_DATASET_LOCKED';
  if (/already exists/.test(text) || fault.validationErrors.some(({ errno }) => errno === 17))
    return 'TRUENAS_ALREADY_EXISTS';
  if (fault.validationErrors.some(({ attribute }) => attribute.endsWith('nic_attach'))) return 'TRUENAS_BRIDGE_UNKNOWN';
  if (/does not support virtualization|not licensed to use VMs/.test(text)) return 'TRUENAS_VM_BROKEN';
  return 'TRUENAS_REFUSED';
}

const codeByErrno: Readonly<Record<number, TrueNasErrorCode>> = {
  2: 'TRUENAS_NOT_FOUND',
  12: 'TRUENAS_MEMORY_SHORT',
  13: 'TRUENAS_ROLE_MISSING',
  16: 'TRUENAS_BUSY',
  17: 'TRUENAS_ALREADY_EXISTS',
  28: 'TRUENAS_POOL_FULL',
  39: 'TRUENAS_BUSY',
  122: 'TRUENAS_POOL_FULL',
  205: 'TRUENAS_DATASET_LOCKED',
  207: 'TRUENAS_SESSION_ENDED',
};

/** -32001 (a failed call) and any other code. */
function callErrorCode(fault: RpcFault): TrueNasErrorCode {
  const text = fault.message;
  // Up to 25.10, a filter with `get: true` without a match answers EINVAL instead of ENOENT.
  if (fault.errno === 22 && /MatchNotFound/.test(text)) return 'TRUENAS_NOT_FOUND';
  if (fault.errno === 13 && /Session is expired/.test(text)) return 'TRUENAS_SESSION_ENDED';
  const known = codeByErrno[fault.errno];
  if (known) return known;
  // Errors of ZFS have EFAULT and the message of ZFS.
  if (/already exists/.test(text)) return 'TRUENAS_ALREADY_EXISTS';
  if (/is busy|EZFS_BUSY/.test(text)) return 'TRUENAS_BUSY';
  if (/out of space|no space left|NOSPC/i.test(text)) return 'TRUENAS_POOL_FULL';
  return 'TRUENAS_CALL_FAILED';
}

/** The refusal or failure on one line. */
function describeFault(fault: RpcFault): string {
  const rejections = fault.validationErrors.map(({ attribute, message }) =>
    attribute ? `${attribute}: ${message}` : message,
  );
  const text = rejections.length > 0 ? rejections.join('; ') : fault.message;
  const line = text.replace(/\s+/g, ' ').trim().slice(0, 500);
  return /[.!?]$/.test(line) ? line : `${line}.`;
}

/** True when `error` carries one of these codes. */
export function hasCode(error: unknown, ...codes: TrueNasErrorCode[]): error is ProviderError {
  return error instanceof ProviderError && codes.some((code) => code === error.code);
}

/** The error for a certificate that is not the pinned one; undefined for any other error. */
export function toFingerprintError(error: unknown): ProviderError | undefined {
  if (!hasCode(error, 'TLS_FINGERPRINT_DIFFERS')) return undefined;
  return new TrueNasError('TRUENAS_FINGERPRINT_DIFFERS', error.detail, { cause: error });
}

function asRecord(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}
