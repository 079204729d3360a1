import { ConnectError, Code as GrpcCode } from '@connectrpc/connect';
import { type ErrorCode, ProviderError } from '../../lib/errors.ts';
import { systemCodeOf, toNetworkError } from '../../lib/net/http.ts';
import { trimTrailing } from '../../lib/text.ts';

/** The error codes of gRPC codes. Of the calls in use only etcd's bootstrap returns AlreadyExists. */
const codesByGrpcCode: Readonly<Partial<Record<GrpcCode, ErrorCode>>> = {
  [GrpcCode.InvalidArgument]: 'TALOS_CONFIG_REFUSED',
  [GrpcCode.FailedPrecondition]: 'TALOS_NOT_READY',
  [GrpcCode.AlreadyExists]: 'TALOS_ALREADY_BOOTSTRAPPED',
  [GrpcCode.PermissionDenied]: 'TALOS_PERMISSION_DENIED',
  [GrpcCode.NotFound]: 'TALOS_NOT_FOUND',
  [GrpcCode.Unimplemented]: 'TALOS_UNSUPPORTED',
  [GrpcCode.Unavailable]: 'TALOS_UNREACHABLE',
  [GrpcCode.DeadlineExceeded]: 'TALOS_UNREACHABLE',
};

/**
 * Converts any error of a call into a ProviderError; the only place that reads gRPC codes. The caller's own abort
 * reason is returned unchanged.
 */
export function toTalosError(error: unknown, address: string, call: string, signal?: AbortSignal): unknown {
  if (signal?.aborted && signal.reason !== undefined) return signal.reason;
  if (error instanceof ProviderError) return error;
  const connectError = ConnectError.from(error);
  const system = systemCodeOf(connectError.cause);
  if (system !== undefined) return toTransportError(connectError, system, address);
  // A session that breaks during a call is reported as "http/2 stream closed with error code …", with varying codes.
  const broken = /^http\/2 /.test(connectError.rawMessage);
  const code = broken
    ? 'TALOS_UNREACHABLE'
    : (codesByGrpcCode[connectError.code] ?? codeFromMessage(connectError.rawMessage));
  const message = redact(connectError.rawMessage);
  // Without the original error as cause: Talos includes the machine token in some of its messages.
  return new ProviderError(code, `${address}, ${call}: ${message}.`);
}

/** Talos' maintenance mode up to 1.12 reports this error only in the message (`internal/app/maintenance/server.go`). */
const codeFromMessage = (message: string): ErrorCode =>
  message.startsWith('failed to parse config') ? 'TALOS_CONFIG_REFUSED' : 'TALOS_CALL_FAILED';

/** A certificate that cannot be verified belongs to another node, or to a node in maintenance mode. */
function toTransportError(error: ConnectError, system: string, address: string): ProviderError {
  const cause = error.cause;
  if (/^CERT_(HAS_EXPIRED|NOT_YET_VALID)$/.test(system)) {
    const detail = `${address}: its certificate is not valid at this time. Check its clock.`;
    return new ProviderError('TALOS_UNREACHABLE', detail, { cause });
  }
  if (toNetworkError(cause, address).code === 'TLS_UNTRUSTED') {
    return new ProviderError('TALOS_FOREIGN_NODE', `${address} (${system}).`, { cause });
  }
  if (/ALERT/.test(system)) {
    const detail = `${address} (${system}): it rejects our certificate.`;
    return new ProviderError('TALOS_UNREACHABLE', detail, { cause });
  }
  return new ProviderError('TALOS_UNREACHABLE', `${address} (${system}).`, { cause });
}

/**
 * The first line of a message, without potential secrets. The error of a rejected configuration change includes a diff
 * that shows the machine token in clear.
 */
export function redact(text: string): string {
  const line = text.split(/[\r\n]/)[0] ?? '';
  const shown = line
    .replace(/[0-9a-z]{6}\.[0-9a-z]{16}/g, '[secret]')
    .replace(/[A-Za-z0-9+/_-]{24,}={0,2}/g, (long) => (isHyphenatedName(long) || isPath(long) ? long : '[secret]'))
    .slice(0, 200);
  return trimTrailing(shown, /[.\s]/);
}

/** Lower-case words joined by hyphens: the form of node and service names. No secret of Talos has this form. */
const isHyphenatedName = (text: string): boolean => /^[a-z0-9]+(-[a-z0-9]+)+$/.test(text);

/**
 * Paths of files, sockets and images: segments in lower case that are no longer than a word, or hyphenated names.
 * Base64 of such a length contains capitals. A segment of digits alone, or one as long as a secret, does not occur in
 * the paths of Talos.
 */
const isPath = (text: string): boolean => {
  const [first = '', ...rest] = text.split('/');
  const segments = first === '' ? rest : [first, ...rest];
  return rest.length > 0 && segments.every((one) => isHyphenatedName(one) || /^[a-z][a-z0-9_]{0,22}$/.test(one));
};
