import { setTimeout as delay } from 'node:timers/promises';

/** The source of time, injected so that tests control it. */
export interface Clock {
  /** Wall-clock time. It may jump. */
  now(): Date;
  /** Monotonic milliseconds: for durations, never for dates. */
  monotonic(): number;
  /** Resolves after `ms`, or rejects with the signal's reason as soon as it aborts. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

export const systemClock: Clock = {
  now: () => new Date(),
  monotonic: () => performance.now(),
  sleep: (ms, signal) => delay(ms, undefined, signal ? { signal } : {}),
};
