import { type StepOutcome, wait } from '../../../engine/platform.ts';
import { hasCode } from '../errors.ts';

/** It is only a matter of time, and nothing went wrong: no failure is to be counted for it. */
const notYetCodes = [
  'ROBOT_BUDGET_SPENT',
  'ROBOT_RATE_LIMITED',
  'ROBOT_BUSY',
  'ROBOT_IN_PROCESS',
  'ROBOT_LOGIN_POSTPONED',
  'ROBOT_UNAVAILABLE',
] as const;

/** The longest time a Machine is left alone, so that what its condition says stays true. */
const maxWaitSeconds = 300;

/** Does a step's work. Where Robot says "not now", the step waits for as long as was said, in those words. */
export async function runOrWait(work: () => Promise<StepOutcome>): Promise<StepOutcome> {
  try {
    return await work();
  } catch (error) {
    if (!hasCode(error, ...notYetCodes)) throw error;
    return wait(Math.min(maxWaitSeconds, Math.max(1, Math.ceil(error.retryAfterSeconds ?? 10))), error.message);
  }
}
