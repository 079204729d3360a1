import { expect, it } from 'vitest';
import { OrphanObservations, orphanGraceSeconds } from './orphan-observations.ts';

it('D36: an orphan is due after a minute without a break, by a clock that nobody sets', () => {
  let now = 0;
  const observations = new OrphanObservations({ monotonic: () => now });
  const at = (seconds: number, ...orphans: string[]) => {
    now = seconds * 1000;
    return observations.record('one', orphans);
  };
  expect(at(0, 'a')).toEqual([]);
  expect(at(orphanGraceSeconds - 1, 'a', 'b')).toEqual([]);
  expect(at(orphanGraceSeconds, 'a', 'b')).toEqual(['a']);
  expect(at(orphanGraceSeconds + 1, 'b')).toEqual([]);
  // It had a Machine in between.
  expect(at(2 * orphanGraceSeconds, 'a', 'b')).toEqual(['b']);
  expect(observations.record('two', ['b'])).toEqual([]);
});
