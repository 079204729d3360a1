import type { Clock } from '../../../lib/clock.ts';
import { type ErrorCode, ProviderError } from '../../../lib/errors.ts';

const pauseSeconds = { first: 1, most: 60, untrusted: 60, longestWish: 600 };

interface RobotFailure {
  readonly code: ErrorCode;
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
  #trouble: RobotFailure | undefined;
  #failures = 0;

  constructor(clock: Clock, random: () => number = Math.random) {
    this.#clock = clock;
    this.#random = random;
  }

  /** The last attempt failed. */
  get isOn(): boolean {
    return this.#trouble !== undefined;
  }

  /** Throws while no attempt is due. */
  throwIfResting(): void {
    const trouble = this.#trouble;
    const seconds = trouble ? (trouble.until - this.#clock.monotonic()) / 1000 : 0;
    if (trouble && seconds > 0) throw toCircuitOpenError(trouble, seconds);
  }

  /** The error for a caller that waited too long for another caller's attempt. */
  patienceError(seconds: number): ProviderError | undefined {
    return this.#trouble && toCircuitOpenError(this.#trouble, seconds);
  }

  /**
   * Records a failed attempt and returns the seconds until the next. `wishSeconds` is the pause that the webservice
   * asks for.
   */
  begin(trouble: Omit<RobotFailure, 'until'>, wishSeconds = 0): number {
    this.#failures += 1;
    const full =
      trouble.code === 'ROBOT_TLS_UNTRUSTED'
        ? pauseSeconds.untrusted
        : Math.min(pauseSeconds.most, pauseSeconds.first * 2 ** (this.#failures - 1));
    const seconds = Math.max(full * (0.5 + this.#random() / 2), Math.min(wishSeconds, pauseSeconds.longestWish));
    this.#trouble = { ...trouble, until: this.#clock.monotonic() + seconds * 1000 };
    return seconds;
  }

  /** Records an answer of the webservice. */
  end(): void {
    this.#failures = 0;
    this.#trouble = undefined;
  }
}

const toCircuitOpenError = ({ code, cause }: RobotFailure, seconds: number): ProviderError =>
  new ProviderError(code, '', { cause, retryAfterSeconds: seconds });
