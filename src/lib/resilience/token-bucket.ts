import type { Clock } from '../clock.ts';

/** Allows a burst, and then a fixed rate per second. */
export class TokenBucket {
  readonly #clock: Clock;
  readonly #burst: number;
  readonly #perSecond: number;
  #tokens: number;
  #filledAt: number;

  constructor(clock: Clock, burst: number, perSecond: number) {
    this.#clock = clock;
    this.#burst = burst;
    this.#perSecond = perSecond;
    this.#tokens = burst;
    this.#filledAt = clock.monotonic();
  }

  /** Takes a token, if there is one. */
  take(): boolean {
    this.#fill();
    if (this.#tokens < 1) return false;
    this.#tokens -= 1;
    return true;
  }

  /** Takes this many tokens, which may be more than there are. Returns the seconds until the debt is paid. */
  spend(amount: number): number {
    this.#fill();
    this.#tokens -= amount;
    return this.#tokens >= 0 ? 0 : -this.#tokens / this.#perSecond;
  }

  /** 0 when a token is available now. */
  secondsUntilNext(): number {
    this.#fill();
    return this.#tokens >= 1 ? 0 : (1 - this.#tokens) / this.#perSecond;
  }

  #fill(): void {
    const now = this.#clock.monotonic();
    this.#tokens = Math.min(this.#burst, this.#tokens + ((now - this.#filledAt) / 1000) * this.#perSecond);
    this.#filledAt = now;
  }
}
