import { describe, expect, test } from 'vitest';
import { projectFiles, readProjectFile } from './source-tree.ts';

interface Row {
  readonly number: string;
  /** Undefined for a row without a test. */
  readonly file: string | undefined;
  /** In the words of the page's summary. */
  readonly state: State;
}
type State = 'held' | 'in part' | 'not yet' | 'not held' | 'with nothing to test';

/** Letters of rows, their page, and their number. */
const tables = [
  { letter: 'C', page: 'docs/development/openmcp-contract.md', length: 76 },
  { letter: 'H', page: 'docs/development/hetzner-robot-rows.md', length: 34 },
  { letter: 'B', page: 'docs/development/hetzner-robot-rows.md', length: 15 },
  { letter: 'P', page: 'docs/development/hetzner-robot-rows.md', length: 52 },
  { letter: 'T', page: 'docs/development/truenas-rows.md', length: 65 },
  { letter: 'G', page: 'docs/development/truenas-rows.md', length: 19 },
  { letter: 'S', page: 'docs/development/truenas-rows.md', length: 60 },
  { letter: 'D', page: 'docs/development/day-2-rows.md', length: 59 },
  { letter: 'M', page: 'docs/development/multicluster-rows.md', length: 19 },
  { letter: 'F', page: 'docs/development/multicluster-rows.md', length: 12 },
] as const;

/** A row: its number, its test file, its missing part, or the state in place of both. */
const form = /^\| ([A-Z]\d+) \|.*\| (?:`([^`]+)`(; not yet: [^|]+)?|—|(not held|not yet): [^|]+) \|$/;

const rowsOf = (letter: string, page: string): readonly Row[] =>
  readProjectFile(page)
    .split('\n')
    .map((line) => form.exec(line))
    .filter((found) => found !== null)
    .map(([, number = '', file, lack, word]) => ({ number, file, state: stateOf(file, lack, word) }))
    .filter(({ number }) => number.startsWith(letter));

function stateOf(file: string | undefined, lack: string | undefined, word: string | undefined): State {
  if (file !== undefined) return lack === undefined ? 'held' : 'in part';
  return word === 'not held' || word === 'not yet' ? word : 'with nothing to test';
}

/** Rows in the names of tests: `'C8, C9: gives …'`. */
const heldIn = (path: string): string[] =>
  [...readProjectFile(path).matchAll(/['`"]((?:[BCDFGHMPST]\d+, )*[BCDFGHMPST]\d+): /g)].flatMap(([, list = '']) =>
    list.split(', '),
  );

describe.each(tables)('rows $letter of $page', ({ letter, page, length }) => {
  const rows = rowsOf(letter, page);

  test('are in their table, each once', () => {
    expect(rows.map(({ number }) => number)).toEqual(Array.from({ length }, (_, i) => `${letter}${i + 1}`));
  });

  test('are in the title of a test in the file that the table names', () => {
    const lost = rows.filter(({ number, file }) => file !== undefined && !heldIn(file).includes(number));
    expect(lost).toEqual([]);
  });

  test('without a test in the table are in no title', () => {
    const withoutEndpoint = new Set(rows.filter(({ file }) => file === undefined).map(({ number }) => number));
    const named = projectFiles.filter((path) => path.endsWith('.test.ts')).flatMap(heldIn);
    expect(named.filter((number) => withoutEndpoint.has(number))).toEqual([]);
  });
});

test.each([...new Set(tables.map(({ page }) => page))])('%s counts its open rows', (page) => {
  const states = tables.filter((table) => table.page === page).flatMap(({ letter }) => rowsOf(letter, page));
  const count = (wanted: State) => states.filter(({ state }) => state === wanted).length;
  const words = ['held', 'in part', 'not yet', 'not held', 'with nothing to test'] as const;
  const told = `${states.length} rows: ${words.map((word) => `${count(word)} ${word}`).join(', ')}.`;
  const said = readProjectFile(page)
    .split('\n')
    .filter((line) => /^\d+ rows: /.test(line));
  // A page without open rows may leave the line out.
  expect(said).toEqual(count('not yet') + count('in part') > 0 || said.length > 0 ? [told] : []);
});

test('no title names a row that does not exist', () => {
  const known = new Set(tables.flatMap(({ letter, page }) => rowsOf(letter, page)).map(({ number }) => number));
  const named = projectFiles.filter((path) => path.endsWith('.test.ts')).flatMap(heldIn);
  expect(named.filter((number) => !known.has(number))).toEqual([]);
});
