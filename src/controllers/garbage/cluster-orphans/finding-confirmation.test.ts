import { describe, expect, it } from 'vitest';
import { ManualClock } from '../../../../test/support/manual-clock.ts';
import { FindingConfirmation } from './finding-confirmation.ts';

/** Looks at the given seconds, each with what it finds; undefined: it was uncertain. Returns the results. */
async function look(looks: readonly (readonly [number, readonly string[] | undefined])[]) {
  const clock = new ManualClock();
  const confirmation = new FindingConfirmation(clock);
  const results: string[][] = [];
  for (const [seconds, found] of looks) {
    await clock.advance(seconds * 1000 - clock.monotonic());
    if (found) results.push(confirmation.note(found));
    else confirmation.forget();
  }
  return results;
}

describe('D36, D37: the minute', () => {
  it('ends after a minute of looks that all find the same', async () => {
    const found = [0, 20, 40, 59, 60].map((seconds) => [seconds, ['a']] as const);
    expect(await look(found)).toEqual([[], [], [], [], ['a']]);
  });

  it('is that of each on its own', async () => {
    const found = await look([
      [0, ['a']],
      [30, ['a', 'b']],
      [60, ['a', 'b']],
      [90, ['b']],
    ]);
    expect(found).toEqual([[], [], ['a'], ['b']]);
  });

  it.each<[string, readonly (readonly [number, readonly string[] | undefined])[]]>([
    [
      'begins again if a look does not find it',
      [
        [0, ['a']],
        [20, ['a']],
        [40, []],
        [60, ['a']],
        [80, ['a']],
        [100, ['a']],
      ],
    ],
    [
      'begins again after an uncertain look',
      [
        [0, ['a']],
        [20, ['a']],
        [40, undefined],
        [60, ['a']],
        [80, ['a']],
        [100, ['a']],
      ],
    ],
    [
      'needs more looks than two',
      [
        [0, ['a']],
        [90, ['a']],
      ],
    ],
    [
      'begins again after a long pause',
      [
        [0, ['a']],
        [20, ['a']],
        [40, ['a']],
        [300, ['a']],
      ],
    ],
  ])('%s', async (_, looks) => {
    expect((await look(looks)).flat()).toEqual([]);
  });

  it('is pending while the last look has found something', () => {
    const confirmation = new FindingConfirmation(new ManualClock());
    expect(confirmation.isPending).toBe(false);
    confirmation.note(['a']);
    expect(confirmation.isPending).toBe(true);
    confirmation.note([]);
    expect(confirmation.isPending).toBe(false);
  });
});
