import { describe, expect, it } from 'vitest';
import { measurePatch, patchLimits } from './patch-limits.ts';

const nested = (levels: number): unknown => (levels === 0 ? 'x' : { a: nested(levels - 1) });
const list = (length: number) => ({ list: Array.from({ length }, () => 1) });

describe('the size of a patch', () => {
  it('counts the content at any depth', () => {
    expect(measurePatch({ a: 'xyz', b: { c: [1, 'q'] } })).toEqual({ values: 5, characters: 9 });
    expect(measurePatch(nested(patchLimits.depth))).toMatchObject({ values: patchLimits.depth });
    expect(measurePatch(list(patchLimits.values - 1))).toMatchObject({ values: patchLimits.values });
    expect(measurePatch({ m: 'x'.repeat(patchLimits.characters - 1) })).toMatchObject({ values: 1 });
  });

  it.each<[string, unknown, string]>([
    ['too deep', nested(patchLimits.depth + 1), 'has more than 20 levels'],
    ['far too deep', nested(5000), 'has more than 20 levels'],
    ['full of elements', list(patchLimits.values), 'has more than 2500 keys and elements'],
    ['full of text', { m: 'x'.repeat(patchLimits.characters) }, 'has more than 256 KiB of text'],
    ['of one key', { ['k'.repeat(318)]: 1 }, 'has a key of more than 317 characters'],
  ])('is too much when it is %s', (_, patch, tooMuch) => {
    expect(measurePatch(patch)).toEqual({ tooMuch });
  });
});
