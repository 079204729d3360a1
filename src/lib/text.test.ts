import { describe, expect, it } from 'vitest';
import { toPrintable, trimTrailing } from './text.ts';

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

it.each([
  ['\u001b[2Ja', ' [2Ja'],
  ['a\r\n\tb', 'a b'],
  ['a\u009b31m', 'a 31m'],
  ['a\u202eb\u2066c\u200bd', 'a b c d'],
  ['a\u2028b', 'a b'],
  ['Größe 漢', 'Größe 漢'],
])('%j is printed as %j', (text, printed) => {
  expect(toPrintable(text)).toBe(printed);
});
