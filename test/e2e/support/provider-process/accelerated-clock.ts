import { setTimeout as delay } from 'node:timers/promises';
import type { Clock } from '../../../../src/lib/clock.ts';
import { runningMilliseconds } from './running-time.ts';

/**
 * A clock whose waits are `speed` times shorter. It stands still while this process is not scheduled. Dates are those of
 * the system, so that tokens and certificates stay valid.
 */
export function acceleratedClock(speed: number): Clock {
  return {
    now: () => new Date(),
    monotonic: () => runningMilliseconds() * speed,
    sleep: async (ms, signal) => {
      let left = ms / speed;
      const end = runningMilliseconds() + left;
      do {
        await delay(left, undefined, signal ? { signal } : {});
        left = end - runningMilliseconds();
      } while (left > 0);
    },
  };
}
