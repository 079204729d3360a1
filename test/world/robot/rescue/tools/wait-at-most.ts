import { setTimeout as delay } from 'node:timers/promises';
import type { RescueProcess } from '../process.ts';

/** A busy machine pauses for as long now and then, however fast the simulated time is. In milliseconds. */
const shortestMs = 250;

/** Waits for `next` at most so many simulated seconds. Throws what `tooLate` returns. */
export async function waitAtMost<T>(
  next: Promise<T>,
  seconds: number,
  { system, signal }: RescueProcess,
  tooLate: () => Error,
): Promise<T> {
  const end = new AbortController();
  const late = async (): Promise<never> => {
    await system.clock.sleep(seconds, AbortSignal.any([signal, end.signal]));
    await delay(shortestMs, undefined, { signal: end.signal });
    throw tooLate();
  };
  try {
    return await Promise.race([next, late()]);
  } finally {
    end.abort();
  }
}
