import type { Clock } from '../clock.ts';
import { TokenBucket } from './token-bucket.ts';

/** Whoever sends on after that is held up again. */
const maxPauseSeconds = 60;

export interface RateLimit {
  readonly burst: number;
  readonly perSecond: number;
}

/**
 * How fast is read what another system sends by itself. One that sends more is not refused but read later: TCP holds it up, and
 * the event loop stays free for others.
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

  /** Counts what came in. Returns for how many seconds nothing more is to be read. */
  spend(bytes: number, messages: number): number {
    return Math.min(maxPauseSeconds, Math.max(this.#bytes.spend(bytes), this.#messages.spend(messages)));
  }

  /** The same. Undefined: go on; else resolves when to go on, or with the end of the signal. */
  rest(bytes: number, messages: number, signal: AbortSignal): Promise<void> | undefined {
    const seconds = this.spend(bytes, messages);
    if (seconds <= 0) return undefined;
    return this.#clock.sleep(seconds * 1000, signal).catch(() => {});
  }
}
