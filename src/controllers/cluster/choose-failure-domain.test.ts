import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { chooseFailureDomain, type PlacedMachine } from './choose-failure-domain.ts';

const three = ['a', 'b', 'c'];
const on = (pool: string, ...failureDomains: readonly string[]): PlacedMachine[] =>
  failureDomains.map((failureDomain) => ({ pool, failureDomain }));

/** The failure domains of `count` Machines of a pool, created one after the other. */
function spread(
  names: readonly string[],
  count: number,
  there: readonly PlacedMachine[] = [],
  others: readonly PlacedMachine[] = [],
) {
  const made: PlacedMachine[] = [];
  while (made.length < count) {
    const failureDomain = chooseFailureDomain(names, 'cp', [...there, ...made], [...others, ...there, ...made]);
    made.push({ pool: 'cp', failureDomain });
  }
  return made.map(({ failureDomain }) => failureDomain);
}

describe('the failure domain of the next Machine', () => {
  it.each([
    { reason: 'in turn, in the order of the list', got: spread(three, 5), wanted: ['a', 'b', 'c', 'a', 'b'] },
    {
      reason: 'undefined if the platform has only one',
      got: spread([], 2),
      wanted: [undefined, undefined],
    },
    {
      reason: 'a new one until it has as many Machines as the others',
      got: spread(three, 4, on('cp', 'a', 'b', 'a', 'b')),
      wanted: ['c', 'c', 'a', 'b'],
    },
    {
      reason: 'the one of the Machine that is replaced',
      got: spread(three, 1, on('cp', 'a', 'c')),
      wanted: ['b'],
    },
    {
      reason: 'without counting other pools of the cluster',
      got: spread(three, 3, on('work', 'a', 'a', 'a')),
      wanted: ['b', 'c', 'a'],
    },
    {
      reason: 'among equals, the one with the fewest Machines of all clusters',
      got: spread(three, 3, [], on('cp', 'a', 'b')),
      wanted: ['c', 'a', 'b'],
    },
    {
      reason: 'without counting one that is no longer in the list',
      got: spread(['b', 'c'], 2, on('cp', 'a', 'a', 'b')),
      wanted: ['c', 'b'],
    },
  ])('$reason', ({ got, wanted }) => {
    expect(got).toEqual(wanted);
  });

  it('T58: no failure domain ever gets two more Machines of a pool than another, whatever existed before', () => {
    const names = fc.uniqueArray(fc.constantFrom('a', 'b', 'c', 'd', 'e'), { minLength: 1 });
    const others = fc.array(
      fc.record({ pool: fc.constantFrom('cp', 'work'), failureDomain: fc.constantFrom('a', 'b', 'f') }),
    );
    fc.assert(
      fc.property(names, others, fc.nat(20), (list, ofConfig, count) => {
        const failureDomains = spread(list, count, [], ofConfig);
        const counts = list.map((name) => failureDomains.filter((failureDomain) => failureDomain === name).length);
        expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(1);
      }),
    );
  });
});
