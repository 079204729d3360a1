import type { Clock } from '../../../lib/clock.ts';
import type { ProviderError } from '../../../lib/errors.ts';
import { backoffSeconds } from '../../../lib/resilience/backoff.ts';
import { CircuitBreaker } from '../../../lib/resilience/circuit-breaker.ts';
import { HetznerRobotError, type HetznerRobotErrorCode } from '../error-codes.ts';

const backoff = { baseSeconds: 1, capSeconds: 60 };
/** A certificate that is not trusted needs a change, so it is not tried again soon. */
const untrustedPauseSeconds = 60;
/** Longest pause that the webservice can request. */
const maxRetryAfterSeconds = 600;

/** Why the webservice cannot be used now. */
export interface RobotOutage {
  readonly code: HetznerRobotErrorCode;
  readonly cause: unknown;
  /** The pause that the webservice asks for. */
  readonly retryAfterSeconds: number;
}

/** The circuit breaker of the webservice, so that a thousand Hosts do not overload a webservice that recovers. */
export function createRobotCircuitBreaker(
  clock: Clock,
  random: (() => number) | undefined,
): CircuitBreaker<RobotOutage> {
  return new CircuitBreaker({
    clock,
    pauseSeconds: ({ code, retryAfterSeconds }, failures) => {
      const isUntrusted = code === 'ROBOT_TLS_UNTRUSTED';
      const [count, baseSeconds] = isUntrusted ? [1, untrustedPauseSeconds] : [failures, backoff.baseSeconds];
      const seconds = backoffSeconds(count, { ...backoff, baseSeconds, random });
      return Math.max(seconds, Math.min(retryAfterSeconds, maxRetryAfterSeconds));
    },
  });
}

export const toRobotOutageError = ({ code, cause }: RobotOutage, seconds: number): ProviderError =>
  new HetznerRobotError(code, '', { cause, retryAfterSeconds: seconds });
