import type { ConditionState } from '../../api/conditions.ts';

/** Objects in the target cluster are looked at this often, so that what was changed by hand is put right. */
export const lookAgainSeconds = 600;

/** What came of it, in conditions, and when to look again. */
export interface Outcome {
  readonly states: readonly ConditionState[];
  readonly secretName?: string;
  readonly againInSeconds: number;
}
