import type { Clock } from '../../../lib/clock.ts';
import type { ProviderError } from '../../../lib/errors.ts';
import { HetznerRobotError, type HetznerRobotErrorCode } from '../error-codes.ts';

const pauseSeconds = { first: 1, most: 60, untrusted: 60, longestWish: 600 };

interface RobotFailure {
  readonly code: HetznerRobotErrorCode;
  readonly cause: unknown;
  readonly until: number;
}

/**
 * Circuit breaker of the webservice. After a failure all calls fail at once with the same message until the next
 * attempt is due, with growing pauses. So a thousand Hosts do not overload a webservice that recovers.
 */
export class RobotCircuitBreaker {
  readonly #clock: Clock;
  readonly #random: () => number;
  #failure: RobotFailure | undefined;
  #failures = 0;

  constructor(clock: Clock, random: () => number = Math.random) {
    this.#clock = clock;
    this.#random = random;
  }

  /** The last attempt failed. */
  get isOn(): boolean {
    return this.#failure !== undefined;
  }

  /** Throws while no attempt is due. */
  throwIfResting(): void {
    const problem = this.#failure;
    const seconds = problem ? (problem.until - this.#clock.monotonic()) / 1000 : 0;
    if (problem && seconds > 0) throw toCircuitOpenError(problem, seconds);
  }

  /** The error for a caller that waited too long for another caller's attempt. */
  openError(seconds: number): ProviderError | undefined {
    return this.#failure && toCircuitOpenError(this.#failure, seconds);
  }

  /**
   * Records a failed attempt and returns the seconds until the next. `wishSeconds` is the pause that the webservice
   * asks for.
   */
  begin(problem: Omit<RobotFailure, 'until'>, wishSeconds = 0): number {
    this.#failures += 1;
    const full =
      problem.code === 'ROBOT_TLS_UNTRUSTED'
        ? pauseSeconds.untrusted
        : Math.min(pauseSeconds.most, pauseSeconds.first * 2 ** (this.#failures - 1));
    const seconds = Math.max(full * (0.5 + this.#random() / 2), Math.min(wishSeconds, pauseSeconds.longestWish));
    this.#failure = { ...problem, until: this.#clock.monotonic() + seconds * 1000 };
    return seconds;
  }

  /** Records an answer of the webservice. */
  end(): void {
    this.#failures = 0;
    this.#failure = undefined;
  }
}

const toCircuitOpenError = ({ code, cause }: RobotFailure, seconds: number): ProviderError =>
  new HetznerRobotError(code, '', { cause, retryAfterSeconds: seconds });
