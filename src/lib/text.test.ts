import { describe, expect, it } from 'vitest';
import { withoutTail } from './text.ts';

describe('the end of a text', () => {
  it.each([
    ['a.b. . ', /[.\s]/, 'a.b'],
    ['https://a//', /\//, 'https://a'],
    ['---', /-/, ''],
    ['', /-/, ''],
    ['a-b', /-/, 'a-b'],
  ])('of %j is cut off where it fits %s', (text, tail, left) => {
    expect(withoutTail(text, tail)).toBe(left);
  });
});
