import { describe, expect, it } from 'vitest';
import { ManualClock } from '../../test/support/manual-clock.ts';
import { decideInventoryLoss, RemovalGuard } from './removal-guard.ts';

describe('F6: a list that lacks clusters', () => {
  it.each([
    [{ known: 5, missing: 5 }, 'uncertain'],
    [{ known: 5, missing: 4 }, 'believed'],
    [{ known: 100, missing: 80 }, 'believed'],
    [{ known: 100, missing: 81 }, 'uncertain'],
    [{ known: 4, missing: 4 }, 'believed'],
    [{ known: 0, missing: 0 }, 'believed'],
  ])('%j is %s at first', (loss, expected) => {
    expect(decideInventoryLoss({ ...loss, uncertainSeconds: undefined }, {})).toBe(expected);
  });

  it.each([
    [59, 'uncertain'],
    [60, 'believed'],
  ])('is, %i s after the first of its kind, %s', (uncertainSeconds, expected) => {
    expect(decideInventoryLoss({ known: 40, missing: 40, uncertainSeconds }, {})).toBe(expected);
  });

  it.each([
    [{ confirmSeconds: 0 }, { known: 40, missing: 40 }, 'believed'],
    [{ minClusters: 1 }, { known: 1, missing: 1 }, 'uncertain'],
    [{ maxLossPercent: 10 }, { known: 40, missing: 5 }, 'uncertain'],
  ])('with %j, %j is %s', (options, loss, expected) => {
    expect(decideInventoryLoss({ ...loss, uncertainSeconds: undefined }, options)).toBe(expected);
  });
});

it('F6: a list that is complete again begins the time anew', async () => {
  const clock = new ManualClock();
  const guard = new RemovalGuard(clock, {});
  const empty = { known: 10, missing: 10 };
  expect(guard.check(empty)).toBe('uncertain');
  await clock.advance(59_000);
  expect(guard.check(empty)).toBe('still-uncertain');
  expect(guard.check({ known: 10, missing: 0 })).toBe('believed');
  expect(guard.check(empty)).toBe('uncertain');
  await clock.advance(60_000);
  expect(guard.check(empty)).toBe('believed');
});
