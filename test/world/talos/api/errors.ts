import { Code, ConnectError } from '@connectrpc/connect';
import type { Fault } from '../../faults/call-interceptor.ts';

export const unavailableError = (message: string): ConnectError => new ConnectError(message, Code.Unavailable);
export const permissionDeniedError = (message = 'not authorized'): ConnectError =>
  new ConnectError(message, Code.PermissionDenied);
export const invalidArgumentError = (message: string): ConnectError => new ConnectError(message, Code.InvalidArgument);
export const failedPreconditionError = (message: string): ConnectError =>
  new ConnectError(message, Code.FailedPrecondition);
export const unimplementedError = (message: string): ConnectError => new ConnectError(message, Code.Unimplemented);
/** An error that a Go server returns without a status. */
export const unknownError = (message: string): ConnectError => new ConnectError(message, Code.Unknown);

/** An injected error as a gRPC error: `code` by name (`Unavailable`) or `status` by number. */
export function toFaultError(fault: Extract<Fault, { kind: 'error' }>): ConnectError {
  const named = fault.code ? Code[fault.code as keyof typeof Code] : undefined;
  const code = named ?? (fault.status as Code | undefined) ?? Code.Unavailable;
  return new ConnectError(typeof fault.body === 'string' ? fault.body : 'a fault was asked for', code);
}
