import { setTimeout as pause } from 'node:timers/promises';

/** An expected result did not occur, or has become impossible. The message is for users. */
export class DemoFailed extends Error {}

/**
 * Polls until `look` returns a value, at most `seconds`. `hopeless` may end the wait early with a sentence, e.g.
 * because a process has exited.
 */
export async function waitForResult<T>(
  what: string,
  seconds: number,
  look: () => Promise<T | undefined>,
  hopeless: () => Promise<string | undefined> = async () => undefined,
): Promise<T> {
  const end = performance.now() + seconds * 1000;
  let problem: unknown;
  while (performance.now() < end) {
    const reason = await hopeless();
    if (reason) throw new DemoFailed(reason);
    try {
      const found = await look();
      if (found !== undefined) return found;
      problem = undefined;
    } catch (error) {
      problem = error;
    }
    await pause(200);
  }
  throw new DemoFailed(
    `${what} did not come about within ${seconds} s.${problem ? ` Last error: ${String(problem)}` : ''}`,
  );
}
