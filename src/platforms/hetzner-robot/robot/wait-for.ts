import { type Outcome, wait } from '../../../engine/platform.ts';
import { hasCode } from './errors.ts';

/** It is only a matter of time, and nothing went wrong: no failure is to be counted for it. */
const early = [
  'ROBOT_BUDGET_SPENT',
  'ROBOT_RATE_LIMITED',
  'ROBOT_BUSY',
  'ROBOT_IN_PROCESS',
  'ROBOT_LOGIN_POSTPONED',
  'ROBOT_UNAVAILABLE',
] as const;

/** The longest time a Machine is left alone, so that what its condition says stays true. */
const mostSeconds = 300;

/** Does a step's work. Where Robot says "not now", the step waits for as long as was said, in those words. */
export async function waitFor(work: () => Promise<Outcome>): Promise<Outcome> {
  try {
    return await work();
  } catch (error) {
    if (!hasCode(error, ...early)) throw error;
    return wait(Math.min(mostSeconds, Math.max(1, Math.ceil(error.retryAfterSeconds ?? 10))), error.message);
  }
}
