import type { Clock } from '../clock.ts';

export interface Rate {
  /** Amount that is allowed at once after a pause. */
  readonly burst: number;
  readonly perSecond: number;
}

/** Allows a burst, and then a fixed rate per second: a token bucket. */
export class RateLimit {
  readonly #clock: Pick<Clock, 'monotonic'>;
  /** Milliseconds in which one token, and a whole burst, are filled in. */
  readonly #tokenMs: number;
  readonly #burstMs: number;
  /** The bucket is full at this time, in the clock's monotonic milliseconds. */
  #fullAt: number;

  constructor(clock: Pick<Clock, 'monotonic'>, { burst, perSecond }: Rate) {
    this.#clock = clock;
    this.#tokenMs = 1000 / perSecond;
    this.#burstMs = burst * this.#tokenMs;
    this.#fullAt = clock.monotonic();
  }

  /** Takes a token, if there is one. */
  take(): boolean {
    if (this.secondsUntilNext() > 0) return false;
    this.spend(1);
    return true;
  }

  /** Takes this many tokens, which may be more than there are. Returns the seconds until the debt is paid. */
  spend(amount: number): number {
    const now = this.#clock.monotonic();
    this.#fullAt = Math.max(this.#fullAt, now) + amount * this.#tokenMs;
    return Math.max(0, this.#fullAt - now - this.#burstMs) / 1000;
  }

  /** 0 when a token is available now. */
  secondsUntilNext(): number {
    const missingMs = this.#fullAt - this.#clock.monotonic() + this.#tokenMs - this.#burstMs;
    return Math.max(0, missingMs) / 1000;
  }
}

/** A longer debt is paused for again when more data arrives. */
const maxPauseSeconds = 60;

/**
 * Limits how fast data is read that another system sends unasked. Excess data is not rejected but read later: TCP slows
 * the sender down, and the event loop stays free for others.
 */
export class ReadRateLimit {
  readonly #clock: Clock;
  readonly #bytes: RateLimit;
  readonly #messages: RateLimit;

  constructor(clock: Clock, rates: { readonly bytes: Rate; readonly messages: Rate }) {
    this.#clock = clock;
    this.#bytes = new RateLimit(clock, rates.bytes);
    this.#messages = new RateLimit(clock, rates.messages);
  }

  /** Counts received data. Returns the seconds during which nothing more may be read. */
  spend(bytes: number, messages: number): number {
    return Math.min(maxPauseSeconds, Math.max(this.#bytes.spend(bytes), this.#messages.spend(messages)));
  }

  /** Like `spend`. Undefined: continue; otherwise resolves when to continue, or with the end of the signal. */
  rest(bytes: number, messages: number, signal: AbortSignal): Promise<void> | undefined {
    const seconds = this.spend(bytes, messages);
    if (seconds <= 0) return undefined;
    return this.#clock.sleep(seconds * 1000, signal).catch(() => {});
  }
}
