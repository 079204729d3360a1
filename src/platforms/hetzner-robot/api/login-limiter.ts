import type { Clock } from '../../../lib/clock.ts';
import { ProviderError } from '../../../lib/errors.ts';

/** Three failed logins shut an address out for ten minutes (Robot webservice documentation). */
const lockout = { failures: 3, seconds: 600 };
/** A little longer, because Robot counts by a clock of its own. */
const windowMs = (lockout.seconds + 10) * 1000;
/** Credentials nobody has seen to work may bring us this near. The last failure is for a password that is changed. */
const maxUnproven = lockout.failures - 1;
/** Another's attempt is known to have worked or not by then. */
const attemptSeconds = 3;

/**
 * The logins of this process that failed at one webservice, whatever the credentials were: Robot counts by the address
 * that they come from. Wrong Secrets, one after the other, shall not lock out the right ones.
 */
export class LoginLimiter {
  readonly #clock: Clock;
  #failures: { readonly at: number }[] = [];
  #trials = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * A call with credentials that nobody has seen to work begins; gives what ends it. Throws ROBOT_LOGIN_POSTPONED when it has
   * to wait.
   */
  begin(): () => void {
    const recent = this.#recent();
    if (recent.length + this.#trials >= maxUnproven) {
      const [first] = recent;
      const isFull = first !== undefined && recent.length >= maxUnproven;
      const seconds = isFull ? (first.at + windowMs - this.#clock.monotonic()) / 1000 : attemptSeconds;
      throw new ProviderError('ROBOT_LOGIN_POSTPONED', '', { retryAfterSeconds: Math.ceil(seconds) });
    }
    this.#trials += 1;
    let isOver = false;
    return () => {
      if (!isOver) this.#trials -= 1;
      isOver = true;
    };
  }

  /** A login failed, or may have. Gives what takes it back. */
  failed(): () => void {
    const failure = { at: this.#clock.monotonic() };
    this.#failures.push(failure);
    return () => {
      this.#failures = this.#failures.filter((one) => one !== failure);
    };
  }

  /** True while one call more at a time is a risk. */
  get isTense(): boolean {
    return this.#recent().length > 0;
  }

  #recent(): readonly { readonly at: number }[] {
    const now = this.#clock.monotonic();
    this.#failures = this.#failures.filter(({ at }) => now < at + windowMs);
    return this.#failures;
  }

  close(): void {
    // Nothing is open: it is kept with the connections because it lives as long as they do.
  }
}
