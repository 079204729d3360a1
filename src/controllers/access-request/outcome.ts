import type { ConditionState } from '../../api/conditions.ts';
import type { Clock } from '../../lib/clock.ts';

/** Objects in the target cluster are looked at this often, so that what was changed by hand is put right. */
export const lookAgainSeconds = 600;
const slotSeconds = 60;

/** Seconds to the next look: at a full minute of the process, so that a cluster is looked into once for many requests. */
export const untilNextLook = (clock: Clock): number => lookAgainSeconds - ((clock.monotonic() / 1000) % slotSeconds);

/** What came of it, in conditions, and when to look again. */
export interface Outcome {
  readonly states: readonly ConditionState[];
  readonly secretName?: string;
  /** The Secret was removed, whatever the cache still shows. */
  readonly secretRemoved?: true;
  readonly againInSeconds: number;
}
