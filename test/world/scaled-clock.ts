import { setTimeout as delay } from 'node:timers/promises';

/**
 * The simulated time: durations of minutes are scaled, not skipped. `scale` 1 is real time, 0.02 is fifty times faster.
 */
export class ScaledClock {
  readonly scale: number;

  constructor(scale = 1) {
    this.scale = scale;
  }

  now(): Date {
    return new Date();
  }

  /** Waits for `seconds` of simulated time. Rejects when the signal aborts. */
  async sleep(seconds: number, signal?: AbortSignal): Promise<void> {
    await delay(seconds * 1000 * this.scale, undefined, signal ? { signal } : {});
  }
}
