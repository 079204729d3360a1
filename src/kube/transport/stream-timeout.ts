import type { Clock } from '../../lib/clock.ts';
import type { StreamRequest } from './line-reader.ts';

/** The reason for ending a stream at its normal timeout, without an error. */
export const streamExpired = new Error('the maximum duration of the stream is reached');

/** Longest interval between two checks: a new stream can end earlier than the existing ones. */
const maxIntervalMs = 5000;

/** Ends a stream that does not begin, falls silent or exceeds its lifetime, on the injected clock. */
export class StreamTimeout {
  readonly #clock: Clock;
  readonly #limits: StreamRequest;
  readonly #maxLifetime: AbortController;
  readonly #startedAt: number;
  #lastDataAt: number | undefined;

  private constructor(clock: Clock, limits: StreamRequest, life: AbortController) {
    this.#clock = clock;
    this.#limits = limits;
    this.#maxLifetime = life;
    this.#startedAt = clock.monotonic();
  }

  /** Monitors the stream until it is released. */
  static of(clock: Clock, limits: StreamRequest, life: AbortController): StreamTimeout {
    const guard = new StreamTimeout(clock, limits, life);
    sharedTimerOf(clock).add(guard);
    return guard;
  }

  /** Records activity of the stream. */
  alive(): void {
    this.#lastDataAt = this.#clock.monotonic();
  }

  release(): void {
    sharedTimerOf(this.#clock).drop(this);
  }

  /** Milliseconds of the clock. */
  get endsAt(): number {
    const { deadlineSeconds, idleSeconds, maxLifetimeSeconds } = this.#limits;
    if (this.#lastDataAt === undefined) return this.#startedAt + deadlineSeconds * 1000;
    return Math.min(this.#lastDataAt + idleSeconds * 1000, this.#startedAt + maxLifetimeSeconds * 1000);
  }

  end(): void {
    const late = new DOMException('the watch was not accepted in time', 'TimeoutError');
    this.#maxLifetime.abort(this.#lastDataAt === undefined ? late : streamExpired);
  }
}

/**
 * Checks all streams of a clock with one timer. There is a stream for each cluster, and one timer for each would fire
 * constantly.
 */
class SharedTimer {
  readonly #clock: Clock;
  readonly #guards = new Set<StreamTimeout>();
  #walk: AbortController | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  add(guard: StreamTimeout): void {
    this.#guards.add(guard);
    if (this.#walk) return;
    this.#walk = new AbortController();
    void this.#go(this.#walk.signal);
  }

  drop(guard: StreamTimeout): void {
    this.#guards.delete(guard);
    if (this.#guards.size > 0) return;
    this.#walk?.abort();
    this.#walk = undefined;
  }

  async #go(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const now = this.#clock.monotonic();
      let next = now + maxIntervalMs;
      for (const guard of this.#guards) {
        const { endsAt } = guard;
        if (endsAt > now) next = Math.min(next, endsAt);
        else {
          this.#guards.delete(guard);
          guard.end();
        }
      }
      // The sleep rejects only after the last stream has ended.
      await this.#clock.sleep(next - now, signal).catch(() => {});
    }
  }
}

const sharedTimers = new WeakMap<Clock, SharedTimer>();

function sharedTimerOf(clock: Clock): SharedTimer {
  const round = sharedTimers.get(clock) ?? new SharedTimer(clock);
  sharedTimers.set(clock, round);
  return round;
}
