import { setTimeout as delay } from 'node:timers/promises';

/** A wait of less real time goes on to its end: with a listener for each, polls of many nodes take a seventh of a processor. */
const shortMilliseconds = 100;

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

  /** Waits for `seconds` of simulated time. Rejects when the signal aborts, or a moment later. */
  async sleep(seconds: number, signal?: AbortSignal): Promise<void> {
    const milliseconds = seconds * 1000 * this.scale;
    if (milliseconds >= shortMilliseconds) return await delay(milliseconds, undefined, signal ? { signal } : {});
    signal?.throwIfAborted();
    await delay(milliseconds);
    signal?.throwIfAborted();
  }
}
