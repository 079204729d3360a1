import { describe, expect, it } from 'vitest';
import { hashNames, shortenName, uuidFromNames } from './hash.ts';

describe('names in the scheme of openMCP', () => {
  it.each([
    [['example'], 'epgccknc'],
    [['default', 'example'], 'fphxsdub'],
    [['foo'], '7bhjls27'],
    [['default', 'talos', 'my-namespace', 'my-access'], 'cobeze4u'],
    [['test', 'kind', 'default', 'test'], 'njnz3bfh'],
  ])('hashes %j to %s', (names, hash) => {
    expect(hashNames(...names)).toBe(hash);
  });

  it('makes stable UUIDs of version 8', () => {
    expect(uuidFromNames('example')).toBe('23cc2129-a257-8644-95e0-289d55c69704');
    expect(uuidFromNames('default', 'example')).toBe('2bcf790e-815e-8ea9-857b-15be429583a5');
  });

  it('keeps short names, and truncates longer ones without trailing dashes', () => {
    expect(shortenName('short', 52)).toBe('short');
    expect(shortenName('a'.repeat(53), 52)).toBe(`${'a'.repeat(42)}--mb4igvco`);
    expect(shortenName('my-very-long-access-request-name-with-dashes-------------and-more', 52)).toBe(
      'my-very-long-access-request-name-with-dash--q3gd2lj7',
    );
    expect(() => shortenName('x'.repeat(20), 10)).toThrow(RangeError);
  });
});
