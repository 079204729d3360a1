import { type StepOutcome, wait } from '../../../engine/step.ts';
import { hasCode } from '../errors.ts';

/** Temporary errors: they are no failure and are not counted as one. */
const notYetCodes = [
  'ROBOT_BUDGET_SPENT',
  'ROBOT_RATE_LIMITED',
  'ROBOT_BUSY',
  'ROBOT_IN_PROCESS',
  'ROBOT_LOGIN_POSTPONED',
  'ROBOT_UNAVAILABLE',
] as const;

/** Longest wait of a Machine, so that its condition stays current. */
const maxWaitSeconds = 300;

/**
 * Runs the work of a step. Where Robot answers "not now", the step waits for the time and with the message of that
 * error.
 */
export async function runOrWait(work: () => Promise<StepOutcome>): Promise<StepOutcome> {
  try {
    return await work();
  } catch (error) {
    if (!hasCode(error, ...notYetCodes)) throw error;
    return wait(Math.min(maxWaitSeconds, Math.max(1, Math.ceil(error.retryAfterSeconds ?? 10))), error.message);
  }
}
