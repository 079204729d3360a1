import { describe, expect, it } from 'vitest';
import { backoffSeconds } from './backoff.ts';

const delays = (random: number, failures: readonly number[]) =>
  failures.map((count) => backoffSeconds(count, { baseSeconds: 2, capSeconds: 300, random: () => random }));

describe('the delay after failures', () => {
  it('doubles up to the cap', () => {
    expect(delays(1, [1, 2, 3, 4, 8, 9, 10, 1e9])).toEqual([2, 4, 8, 16, 256, 300, 300, 300]);
  });

  it('is between half of that and all of it', () => {
    expect(delays(0, [1, 2, 9])).toEqual([1, 2, 150]);
    expect(delays(0.5, [1, 2, 9])).toEqual([1.5, 3, 225]);
    const seconds = Array.from({ length: 100 }, () => backoffSeconds(1, { baseSeconds: 2, capSeconds: 300 }));
    expect(Math.min(...seconds)).toBeGreaterThanOrEqual(1);
    expect(Math.max(...seconds)).toBeLessThan(2);
  });

  it('begins at the base, also for a count below one', () => {
    expect(delays(1, [0, -1])).toEqual([2, 2]);
  });
});
