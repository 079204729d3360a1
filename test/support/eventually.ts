import { setTimeout as pause } from 'node:timers/promises';

/** How many times as long as on an idle machine something may take. */
const patience = 3;

/**
 * Polls until `look` holds, which takes at most `seconds` on an idle machine. It holds when it neither throws nor returns
 * `undefined` or `false`, so that it can contain expectations. Fails with the last error.
 */
export async function eventually<T>(
  what: string,
  look: () => T | undefined | false | Promise<T | undefined | false>,
  seconds = 60,
): Promise<T> {
  const end = performance.now() + patience * seconds * 1000;
  let problem: unknown;
  for (;;) {
    try {
      const found = await look();
      if (found !== undefined && found !== false) return found;
      problem = undefined;
    } catch (error) {
      problem = error;
    }
    if (performance.now() > end) break;
    await pause(50);
  }
  const why = problem instanceof Error ? `: ${problem.message}` : '';
  throw new Error(`after ${patience * seconds} s it is still not so that ${what}${why}`, { cause: problem });
}

/** Checks repeatedly that the condition holds for the whole time. */
export async function consistently(seconds: number, look: () => void | Promise<void>): Promise<void> {
  const end = performance.now() + seconds * 1000;
  while (performance.now() < end) {
    await look();
    await pause(50);
  }
}
