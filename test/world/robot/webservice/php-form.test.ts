import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { formText, formTexts, parseForm } from './php-form.ts';

describe('forms are parsed like in PHP', () => {
  it.each([
    ['one plain value', 'k=9b%3A41', ['9b:41']],
    ['brackets', 'k[]=a&k[]=b', ['a', 'b']],
    ['encoded brackets', 'k%5B%5D=a&k%5B%5D=b', ['a', 'b']],
    ['numbers', 'k[0]=a&k[1]=b', ['a', 'b']],
    ['encoded numbers', 'k%5B0%5D=a&k%5B1%5D=b', ['a', 'b']],
    ['a plain name twice: the last one counts', 'k=a&k=b', ['b']],
    ['a plus is a blank', 'k=ssh-ed25519+AAAA', ['ssh-ed25519 AAAA']],
    ['an equals sign in the value', 'k=AAA=&other=1', ['AAA=']],
    ['a stray percent sign', 'k=100%', ['100%']],
    ['nothing', '', []],
  ])('a list: %s', (_, form, expected) => {
    expect(formTexts(parseForm(form), 'k')).toEqual(expected);
  });

  it('an array is not a string', () => {
    expect(formText(parseForm('os[]=linux'), 'os')).toBeUndefined();
  });

  it('accepts every input, and returns the values of a form', () => {
    fc.assert(fc.property(fc.string(), (any) => void parseForm(any)));
    const entry = fc.tuple(fc.stringMatching(/^[a-z_]+$/), fc.string());
    fc.assert(
      fc.property(fc.uniqueArray(entry, { selector: ([name]) => name }), (entries) => {
        const form = parseForm(new URLSearchParams(entries).toString());
        expect(Object.entries(form)).toEqual(expect.arrayContaining(entries));
      }),
    );
  });
});
