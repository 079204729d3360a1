import type { Clock } from '../../../../src/lib/clock.ts';
import { acceleratedClock } from './accelerated-clock.ts';

/** A clock with short waits whose date a test can set forward. */
export class AdjustableClock implements Clock {
  readonly #base: Clock;
  #aheadMs = 0;

  constructor(speed: number) {
    this.#base = acceleratedClock(speed);
  }

  now(): Date {
    return new Date(this.#base.now().getTime() + this.#aheadMs);
  }

  monotonic(): number {
    return this.#base.monotonic();
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return this.#base.sleep(ms, signal);
  }

  /** Certificates are valid from a day before they are issued: do not go further than that in all. */
  advance(minutes: number): void {
    this.#aheadMs += minutes * 60_000;
  }
}
