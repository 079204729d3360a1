import { expect, it } from 'vitest';
import { describeAge, formatAge } from './ages.ts';

const now = new Date('2026-11-21T09:00:00Z');

it.each([
  [-5, '0 seconds', '0s'],
  [1, '1 second', '1s'],
  [119, '119 seconds', '119s'],
  [120, '2 minutes', '2m'],
  [7199, '119 minutes', '119m'],
  [7200, '2 hours', '2h'],
  [172_799, '47 hours', '47h'],
  [172_800, '2 days', '2d'],
])('%i seconds are %s, in a column %s', (seconds, words, short) => {
  const since = new Date(now.getTime() - seconds * 1000).toISOString();
  expect([describeAge(since, now), formatAge(since, now)]).toEqual([words, short]);
});

it('a time that is none has no age', () => {
  expect([describeAge('soon', now), formatAge('soon', now), formatAge(undefined, now)]).toEqual([
    'an unknown time',
    '-',
    '-',
  ]);
});
