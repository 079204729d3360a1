import { describe, expect, it } from 'vitest';
import { findGrowthRejection, toGrowthRejectionsFact } from './growth-rejection.ts';

const boot = 'tank/talos/shop/boot';

describe('a refusal to grow', () => {
  const at = (minute: number) => new Date(Date.UTC(2026, 10, 21, 12, minute));
  const facts = toGrowthRejectionsFact([{ zvol: boot, message: 'No room: 80% are taken.' }], at(20));

  it.each([
    [19, false],
    [20, true],
    [29, true],
    [30, false],
  ])('T23: of minute 20 is fresh at minute %d: %s', (minute, fresh) => {
    expect(findGrowthRejection(facts, boot, at(minute))).toEqual({ words: 'No room: 80% are taken.', fresh });
  });

  it('T23: concerns one disk only, and ends when no growth was refused', () => {
    expect(findGrowthRejection(facts, 'tank/talos/shop/disk-data', at(21))).toBeUndefined();
    expect(findGrowthRejection(toGrowthRejectionsFact([], at(22)), boot, at(22))).toBeUndefined();
    expect(findGrowthRejection({}, boot, at(22))).toBeUndefined();
  });
});
