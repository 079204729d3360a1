import type { ConditionState } from '../../api/conditions.ts';
import type { Clock } from '../../lib/clock.ts';

/** Objects in the target cluster are looked at this often, so that what was changed by hand is put right. */
export const accessResyncSeconds = 600;
const alignmentSeconds = 60;

/** Seconds to the next look: at a full minute of the process, so that a cluster is looked into once for many requests. */
export const secondsUntilResync = (clock: Clock): number =>
  accessResyncSeconds - ((clock.monotonic() / 1000) % alignmentSeconds);

/** What came of it, in conditions, and when to look again. */
export interface GrantOutcome {
  readonly states: readonly ConditionState[];
  readonly secretName?: string;
  /** The Secret was removed, whatever the cache still shows. */
  readonly secretRemoved?: true;
  readonly againInSeconds: number;
}
