import { describe, expect, it } from 'vitest';
import { noteRefusals, refusalOf } from './refused-growth.ts';

const boot = 'tank/talos/shop/boot';

describe('a refusal to grow', () => {
  const at = (minute: number) => new Date(Date.UTC(2026, 10, 21, 12, minute));
  const facts = noteRefusals([{ zvol: boot, words: 'No room: 80% are taken.' }], at(20));

  it.each([
    [19, false],
    [20, true],
    [29, true],
    [30, false],
  ])('T23: of minute 20 is in minute %d fresh: %s', (minute, fresh) => {
    expect(refusalOf(facts, boot, at(minute))).toEqual({ words: 'No room: 80% are taken.', fresh });
  });

  it('T23: is one of that disk alone, and gone once nothing was refused', () => {
    expect(refusalOf(facts, 'tank/talos/shop/disk-data', at(21))).toBeUndefined();
    expect(refusalOf(noteRefusals([], at(22)), boot, at(22))).toBeUndefined();
    expect(refusalOf({}, boot, at(22))).toBeUndefined();
  });
});
