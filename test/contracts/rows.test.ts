import { expect, test } from 'vitest';
import { read } from './tree.ts';

interface Row {
  readonly number: string;
  /** Undefined where there is nothing to test. */
  readonly file: string | undefined;
}

const rows: readonly Row[] = read('docs/openmcp-contract.md')
  .split('\n')
  .map((line) => /^\| (C\d+) \|.*\| (?:`([^`]+)`|—) \|$/.exec(line))
  .filter((found) => found !== null)
  .map(([, number = '', file]) => ({ number, file }));

/** Rows in the names of tests: `'C8, C9: gives …'`. */
const heldIn = (path: string): string[] =>
  [...read(path).matchAll(/['`]((?:C\d+, )*C\d+): /g)].flatMap(([, list = '']) => list.split(', '));

test('every row of the contract is in the table, once', () => {
  expect(rows.map(({ number }) => number)).toEqual(Array.from({ length: 76 }, (_, i) => `C${i + 1}`));
});

test('every row is held where the table says', () => {
  const lost = rows.filter(({ number, file }) => file !== undefined && !heldIn(file).includes(number));
  expect(lost).toEqual([]);
});
