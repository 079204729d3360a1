import { expect, it } from 'vitest';
import { formatBytes, formatSeconds, formatShortSeconds, plural, secondsBetween } from './format.ts';

it.each([
  [0.4, '0 s'],
  [59.4, '59 s'],
  [60, '1 min'],
  [125, '2 min 5 s'],
  [3600, '1 h'],
  [3720, '1 h 2 min'],
  [47 * 3600 + 60, '47 h 1 min'],
  [49 * 3600, '2 days'],
])('%d seconds are %s', (seconds, text) => {
  expect(formatSeconds(seconds)).toBe(text);
});

it('a short duration has one unit', () => {
  expect([5, 95, 7000, 300_000].map(formatShortSeconds)).toEqual(['5 s', '2 min', '2 h', '3 d']);
});

it('a time in the future, of a clock that differs, is now', () => {
  expect(secondsBetween('2026-11-21T09:00:10Z', Date.parse('2026-11-21T09:00:00Z'))).toBe(0);
});

it('bytes have the largest unit that gives a number above one', () => {
  expect([0, 1023, 2048, 150 * 2 ** 30, 1.5 * 2 ** 40].map(formatBytes)).toEqual([
    '0 B',
    '1023 B',
    '2.0 KiB',
    '150 GiB',
    '1.5 TiB',
  ]);
});

it('one is not many', () => {
  expect([plural(1, 'cluster'), plural(0, 'cluster')]).toEqual(['1 cluster', '0 clusters']);
});
