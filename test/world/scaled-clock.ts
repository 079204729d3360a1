import { setTimeout as delay } from 'node:timers/promises';

/** The world's time: what takes minutes in life is scaled, not left out. `scale` 1 is real time, 0.02 fifty times faster. */
export class ScaledClock {
  readonly scale: number;

  constructor(scale = 1) {
    this.scale = scale;
  }

  now(): Date {
    return new Date();
  }

  /** Waits for `seconds` of the world's time. Rejects when the signal aborts. */
  async sleep(seconds: number, signal?: AbortSignal): Promise<void> {
    await delay(seconds * 1000 * this.scale, undefined, signal ? { signal } : {});
  }
}
