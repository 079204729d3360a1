import { setTimeout as delay } from 'node:timers/promises';
import type { Clock } from '../../../../src/lib/clock.ts';

/**
 * A clock whose waits are `speed` times shorter. Dates are those of the system, so that tokens and certificates stay
 * valid.
 */
export function acceleratedClock(speed: number): Clock {
  return {
    now: () => new Date(),
    monotonic: () => performance.now() * speed,
    sleep: (ms, signal) => delay(ms / speed, undefined, signal ? { signal } : {}),
  };
}
