import type { Clock } from '../clock.ts';

/** So many at once, and then so many in a second. */
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

  /** Takes one, if there is one. */
  take(): boolean {
    this.#fill();
    if (this.#tokens < 1) return false;
    this.#tokens -= 1;
    return true;
  }

  /** Takes so many, which may be more than there are. Returns after how many seconds nothing is owed any more. */
  spend(amount: number): number {
    this.#fill();
    this.#tokens -= amount;
    return this.#tokens >= 0 ? 0 : -this.#tokens / this.#perSecond;
  }

  /** 0 when there is one now. */
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
