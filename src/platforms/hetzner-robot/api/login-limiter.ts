import type { Clock } from '../../../lib/clock.ts';
import { HetznerRobotError } from '../error-codes.ts';

/** Three failed logins lock an address out for ten minutes (Robot webservice documentation). */
const lockout = { failures: 3, seconds: 600 };
/** A little longer than ten minutes, because Robot's clock may differ. */
const windowMs = (lockout.seconds + 10) * 1000;
/** Failed logins that unproven credentials may cause. The last one is left for a password that is changed. */
const maxUnproven = lockout.failures - 1;
/** The outcome of another caller's attempt is known by then. */
const attemptSeconds = 3;

/**
 * Counts the failed logins of this process at one webservice, whatever the credentials: Robot counts by source address.
 * So several wrong Secrets do not lock out the right one.
 */
export class LoginLimiter {
  readonly #clock: Clock;
  #failures: { readonly at: number }[] = [];
  #attempts = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * Begins a call with unproven credentials and returns the function that ends it. Throws ROBOT_LOGIN_POSTPONED when
   * the call has to wait.
   */
  begin(): () => void {
    const recent = this.#recent();
    if (recent.length + this.#attempts >= maxUnproven) {
      const [first] = recent;
      const isFull = first !== undefined && recent.length >= maxUnproven;
      const seconds = isFull ? (first.at + windowMs - this.#clock.monotonic()) / 1000 : attemptSeconds;
      throw new HetznerRobotError('ROBOT_LOGIN_POSTPONED', '', { retryAfterSeconds: Math.ceil(seconds) });
    }
    this.#attempts += 1;
    let isOver = false;
    return () => {
      if (!isOver) this.#attempts -= 1;
      isOver = true;
    };
  }

  /** Records a login that failed or may have failed. Returns the function that takes it back. */
  failed(): () => void {
    const failure = { at: this.#clock.monotonic() };
    this.#failures.push(failure);
    return () => {
      this.#failures = this.#failures.filter((one) => one !== failure);
    };
  }

  /** True while one more concurrent call is a risk. */
  get isNearLimit(): boolean {
    return this.#recent().length > 0;
  }

  #recent(): readonly { readonly at: number }[] {
    const now = this.#clock.monotonic();
    this.#failures = this.#failures.filter(({ at }) => now < at + windowMs);
    return this.#failures;
  }

  close(): void {
    // There is nothing to close. The limiter is kept with the connections because both have the same lifetime.
  }
}
