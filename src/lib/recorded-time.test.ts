import { expect, it } from 'vitest';
import { correctTime, isFutureTime } from './recorded-time.ts';

const now = new Date('2026-11-26T12:00:00Z');

it.each<[string, string, boolean]>([
  ['of the past', '2026-11-26T11:59:59Z', false],
  ['of another clock that is a little ahead', '2026-11-26T12:00:59Z', false],
  ['that was written before the clock was set back', '2026-11-26T12:01:00Z', true],
  ['that cannot be read', 'yesterday', false],
])('a recorded time %s', (_, recorded, expected) => {
  expect(isFutureTime(recorded, now)).toBe(expected);
  const time = new Date(recorded);
  expect(correctTime(time, now)).toBe(expected ? now : time);
});
