import { describe, expect, it } from 'vitest';
import { trimTrailing } from './text.ts';

describe('the end of a text', () => {
  it.each([
    ['a.b. . ', /[.\s]/, 'a.b'],
    ['https://a//', /\//, 'https://a'],
    ['---', /-/, ''],
    ['', /-/, ''],
    ['a-b', /-/, 'a-b'],
  ])('of %j is cut off where it matches %s', (text, tail, left) => {
    expect(trimTrailing(text, tail)).toBe(left);
  });
});
