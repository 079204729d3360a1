import { expect, it } from 'vitest';
import { type Condition, conditionTrue, mergeConditions } from './conditions.ts';

const now = new Date('2026-11-26T12:00:00Z');
const since = (lastTransitionTime: string): Condition => ({
  ...{ type: 'Ready', status: 'True', reason: 'AsExpected', message: '', observedGeneration: 1, lastTransitionTime },
});
const merge = (old: Condition, states = [conditionTrue('Ready')]) =>
  mergeConditions([old], states, { generation: 1, now }).map((one) => one.lastTransitionTime);

it('keeps the time of the last change of a status', () => {
  expect(merge(since('2026-11-25T12:00:00Z'))).toEqual(['2026-11-25T12:00:00Z']);
});

it('corrects a time in the future, since the clock was set back: waits count from it', () => {
  expect(merge(since('2026-11-26T17:00:00Z'))).toEqual(['2026-11-26T12:00:00Z']);
  expect(merge(since('2026-11-26T17:00:00Z'), [])).toEqual(['2026-11-26T12:00:00Z']);
});
