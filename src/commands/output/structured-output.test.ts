import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { formatStructured } from './structured-output.ts';

const value = { name: 'a\u001b[2J\nb\u009bc', list: [1, true, { text: 'é 漢' }], gone: undefined };
const printable = { name: 'a [2J b c', list: [1, true, { text: 'é 漢' }] };

it.each([
  ['json', (text: string): unknown => JSON.parse(text)],
  ['yaml', (text: string): unknown => parse(text)],
] as const)('%s has the value, without control characters', (format, read) => {
  const text = formatStructured(value, format);
  expect(read(text)).toEqual(printable);
  expect(text.replaceAll('\n', '')).not.toMatch(/\p{Cc}/u);
});
