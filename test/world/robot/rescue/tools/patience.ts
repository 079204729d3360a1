import { setTimeout as delay } from 'node:timers/promises';
import type { RescueProcess } from '../process.ts';

/** However fast the world is: a busy machine stands still for as long now and then. In milliseconds. */
const shortestMs = 250;

/** Waits for `next` at most so many of the world's seconds. Throws what `tooLate` makes. */
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
