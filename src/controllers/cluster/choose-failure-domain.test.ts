import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { chooseFailureDomain, type PlacedMachine } from './choose-failure-domain.ts';

const three = ['a', 'b', 'c'];
const on = (pool: string, ...sites: readonly string[]): PlacedMachine[] => sites.map((site) => ({ pool, site }));

/** Where so many machines of a pool go, one after the other. */
function spread(
  names: readonly string[],
  count: number,
  there: readonly PlacedMachine[] = [],
  others: readonly PlacedMachine[] = [],
) {
  const made: PlacedMachine[] = [];
  while (made.length < count) {
    const site = chooseFailureDomain(names, 'cp', [...there, ...made], [...others, ...there, ...made]);
    made.push({ pool: 'cp', site });
  }
  return made.map(({ site }) => site);
}

describe('where the next machine is made', () => {
  it.each([
    { reason: 'in turn, in the order of the list', got: spread(three, 5), wanted: ['a', 'b', 'c', 'a', 'b'] },
    {
      reason: 'nowhere in particular where there is but one place',
      got: spread([], 2),
      wanted: [undefined, undefined],
    },
    {
      reason: 'at a new place until it has as many as the others',
      got: spread(three, 4, on('cp', 'a', 'b', 'a', 'b')),
      wanted: ['c', 'c', 'a', 'b'],
    },
    {
      reason: 'where the one was that is made anew',
      got: spread(three, 1, on('cp', 'a', 'c')),
      wanted: ['b'],
    },
    {
      reason: 'as if other pools of the cluster were not there',
      got: spread(three, 3, on('work', 'a', 'a', 'a')),
      wanted: ['b', 'c', 'a'],
    },
    {
      reason: 'among equals, where there are fewest of all clusters',
      got: spread(three, 3, [], on('cp', 'a', 'b')),
      wanted: ['c', 'a', 'b'],
    },
    {
      reason: 'as if those of a place that is not named any more were not there',
      got: spread(['b', 'c'], 2, on('cp', 'a', 'a', 'b')),
      wanted: ['c', 'b'],
    },
  ])('$reason', ({ got, wanted }) => {
    expect(got).toEqual(wanted);
  });

  it('T58: no place ever gets two more of a pool than another, whatever stood there before', () => {
    const names = fc.uniqueArray(fc.constantFrom('a', 'b', 'c', 'd', 'e'), { minLength: 1 });
    const others = fc.array(fc.record({ pool: fc.constantFrom('cp', 'work'), site: fc.constantFrom('a', 'b', 'f') }));
    fc.assert(
      fc.property(names, others, fc.nat(20), (list, ofConfig, count) => {
        const sites = spread(list, count, [], ofConfig);
        const counts = list.map((name) => sites.filter((site) => site === name).length);
        expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(1);
      }),
    );
  });
});
