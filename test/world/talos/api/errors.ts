import { Code, ConnectError } from '@connectrpc/connect';
import type { Fault } from '../../switchboard.ts';

export const unavailable = (message: string): ConnectError => new ConnectError(message, Code.Unavailable);
export const denied = (message = 'not authorized'): ConnectError => new ConnectError(message, Code.PermissionDenied);
export const invalid = (message: string): ConnectError => new ConnectError(message, Code.InvalidArgument);
export const tooEarly = (message: string): ConnectError => new ConnectError(message, Code.FailedPrecondition);
export const unimplemented = (message: string): ConnectError => new ConnectError(message, Code.Unimplemented);
/** An error that a Go server returns without a status. */
export const plain = (message: string): ConnectError => new ConnectError(message, Code.Unknown);

/** The switchboard's error in terms of gRPC: `code` by name (`Unavailable`) or `status` by number. */
export function toFaultError(fault: Extract<Fault, { kind: 'error' }>): ConnectError {
  const named = fault.code ? Code[fault.code as keyof typeof Code] : undefined;
  const code = named ?? (fault.status as Code | undefined) ?? Code.Unavailable;
  return new ConnectError(typeof fault.body === 'string' ? fault.body : 'a fault was asked for', code);
}
