import type { Facts } from '../../../../engine/step.ts';
import type { Clock } from '../../../../lib/clock.ts';
import { isFutureTime } from '../../../../lib/recorded-time.ts';

/** After this time it is unknown whether our stop is the reason that a machine is off. */
const approvalValidMinutes = 60;

/** Recorded before a machine is stopped for an approved repair: it has to be started again, even in maintenance. */
export const toApprovedStopFact = (clock: Pick<Clock, 'now'>): Facts => ({ startAgain: clock.now().toISOString() });

/** It runs again, or does not have to be stopped any more. */
export const clearApprovedStopFact = ({ startAgain = '' }: Facts): Facts =>
  startAgain === '' ? {} : { startAgain: '' };

/** True while a machine is off because of an approved stop that has not ended. */
export function isApprovedStop({ startAgain }: Facts, clock: Pick<Clock, 'now'>): boolean {
  if (typeof startAgain !== 'string' || startAgain === '') return false;
  const now = clock.now();
  const minutes = (now.getTime() - Date.parse(startAgain)) / 60_000;
  // A clock that was set back must not extend the time.
  return minutes <= approvalValidMinutes && !isFutureTime(startAgain, now);
}
