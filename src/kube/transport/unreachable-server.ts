import type { CircuitRules } from '../../lib/resilience/circuit-breaker.ts';
import { describeNoResponse } from '../client/api-status.ts';
import { isUnreachable, KubeError } from '../errors.ts';
import type { RequestTarget } from './request.ts';

/**
 * How a circuit breaker treats the calls to an API server; its failure is the reason why a call got no response. Any
 * response, whatever its status, closes the circuit. While it is open, calls fail with a KubeError of status 0.
 */
export function unreachableServerRules(target: RequestTarget): CircuitRules<string> {
  return {
    assess: (error) => {
      // An abort by the caller reveals nothing about the server.
      if (!(error instanceof KubeError)) return 'unknown';
      if (!isUnreachable(error)) return 'responded';
      const prefix = `${target.method} ${target.path}: `;
      // The caller may have aborted this call because of the failure of another one, which is recorded already.
      return error.message.startsWith(prefix) ? { failure: error.message.slice(prefix.length) } : 'unknown';
    },
    openError: (reason, retryAfterSeconds) =>
      new KubeError({ ...describeNoResponse(target, 'Unreachable', reason), retryAfterSeconds }),
  };
}
