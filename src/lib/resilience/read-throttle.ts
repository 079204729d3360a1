import type { Clock } from '../clock.ts';
import { TokenBucket } from './token-bucket.ts';

/** A longer debt is paused for again when more data arrives. */
const maxPauseSeconds = 60;

export interface RateLimit {
  readonly burst: number;
  readonly perSecond: number;
}

/**
 * Limits how fast data is read that another system sends unasked. Excess data is not rejected but read later: TCP slows
 * the sender down, and the event loop stays free for others.
 */
export class ReadThrottle {
  readonly #clock: Clock;
  readonly #bytes: TokenBucket;
  readonly #messages: TokenBucket;

  constructor(clock: Clock, rates: { readonly bytes: RateLimit; readonly messages: RateLimit }) {
    const { bytes, messages } = rates;
    this.#clock = clock;
    this.#bytes = new TokenBucket(clock, bytes.burst, bytes.perSecond);
    this.#messages = new TokenBucket(clock, messages.burst, messages.perSecond);
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
