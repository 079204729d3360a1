import type { Facts } from '../../../../engine/platform.ts';
import type { Clock } from '../../../../lib/clock.ts';

/** After so long nobody knows any more whether it is our stop that a machine is off by. */
const approvalValidMinutes = 60;

/** Written down before a machine is stopped for something that people agreed to: it is to be started again, in maintenance too. */
export const toApprovedStopFact = (clock: Pick<Clock, 'now'>): Facts => ({ startAgain: clock.now().toISOString() });

/** It runs again, or is not to be stopped any more. */
export const clearApprovedStopFact = ({ startAgain = '' }: Facts): Facts =>
  startAgain === '' ? {} : { startAgain: '' };

/** Whether a machine that is off is so by an agreed stop, which has not come to its end. */
export function isApprovedStop({ startAgain }: Facts, clock: Pick<Clock, 'now'>): boolean {
  if (typeof startAgain !== 'string' || startAgain === '') return false;
  const minutes = (clock.now().getTime() - Date.parse(startAgain)) / 60_000;
  // A clock that was set back makes it no longer.
  return minutes > -1 && minutes <= approvalValidMinutes;
}
