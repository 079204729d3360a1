import { describe, expect, test } from 'vitest';
import { isTestFile, projectFiles, readProjectFile, sourceFiles } from './source-tree.ts';

/**
 * Words that the field does not use for this, with what it says instead. A name in `src` has none of them, in any form
 * that is listed. What is left of words of our own is in `docs/development/glossary.md`.
 */
const privateWords: Readonly<Record<string, string>> = {
  'vigil lookout glance glimpse sight sighting': 'monitor, observe, snapshot',
  'mend mended mends mending upkeep': 'repair, remediation',
  'wish wished wishes wishing': 'desired',
  'seat seats seated': 'assignment',
  'sift sifted': 'filter',
  'handover handovers': 'cache',
  'tidy tidied keepsake keepsakes': 'collect garbage, retained',
  'foresee foreseen foresight': 'preflight',
  'reign tenure': 'leadership',
  'stranger strangers newcomer newcomers': 'foreign, new',
  'stand-in': 'placeholder',
  'hearken hear heard ear ears deaf': 'receive, listener',
  'said told tell tells saying': 'message, report',
  'judge judged judgement': 'evaluate, assessment',
  'doubt doubts doubtful': 'uncertain',
  'patience patient patients': 'timeout, low priority',
  'mood sulk riddle beget homeless restful restless unwell weather sky skies': 'what it is',
  'trouble troubles': 'problem',
  'refusal refusals': 'rejection',
  'room rooms': 'space, simulator, folder',
  'promise promised': 'reserved, expected',
};

/** Words of comments and documents that need a second reading. */
const unclearProse =
  /\b(vigils?|glances?|glimpses?|hearkens?|keepsakes?|upkeep|mends?|mended|seats?|(?<!mod )tid(?:y|ies|ied)|strangers?|foresees?|foresight)\b/i;

const banned = new Map(
  Object.entries(privateWords).flatMap(([words, instead]) => words.split(' ').map((word) => [word, instead] as const)),
);

const code = sourceFiles('src').filter((path) => !isTestFile(path));

/** Declarations of the language itself, and of libraries whose names we cannot choose. */
const isForeignName = (name: string): boolean => /^Promise|^promisify$/.test(name);

const wordsOf = (name: string): readonly string[] =>
  name
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replace(/([A-Z]+)([A-Z][a-z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z]+/);

const withoutComments = (text: string): string => text.replace(/\/\*[\s\S]*?\*\/|(^|\s)\/\/.*$/gm, '$1');

/** Without comments, texts and regular expressions: what stands between the braces of a template is kept. */
const namesOf = (text: string): readonly string[] =>
  withoutComments(text)
    .replace(/'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"/g, "''")
    .replace(/`(?:[^`\\]|\\.)*`/g, (template) =>
      [...template.matchAll(/\$\{([^}]*)\}/g)].map(([, one]) => one).join(' '),
    )
    .replace(/(?<=[=(,:]\s*)\/(?:[^/\\\n]|\\.)+\/[a-z]*/g, '')
    .match(/[A-Za-z_$][\w$]*/g) ?? [];

const commentsOf = (text: string): string => (text.match(/\/\*[\s\S]*?\*\/|(?:^|\s)\/\/.*$/gm) ?? []).join('\n');

function findBanned(name: string): string | undefined {
  if (isForeignName(name)) return undefined;
  const word = wordsOf(name).find((one) => banned.has(one));
  return word && `${name}: say ${banned.get(word)}`;
}

describe('the words of the field', () => {
  test('are those of every name in src', () => {
    const found = code.flatMap((path) =>
      [...new Set(namesOf(readProjectFile(path)))].flatMap((name) => {
        const problem = findBanned(name);
        return problem ? [`${path}: ${problem}`] : [];
      }),
    );
    expect(found).toEqual([]);
  });

  test('are those of every file and folder', () => {
    const paths = projectFiles.filter((path) => /^(src|test|docs|charts|config)\//.test(path));
    expect(paths.filter((path) => findBanned(path))).toEqual([]);
  });

  test('are those of comments and documents', () => {
    const prose = [
      ...code.map((path) => ({ path, text: commentsOf(readProjectFile(path)) })),
      ...projectFiles
        // It names what was renamed.
        .filter((path) => path.endsWith('.md') && path !== 'CHANGELOG.md')
        .map((path) => ({ path, text: readProjectFile(path) })),
    ];
    const found = prose.flatMap(({ path, text }) =>
      text.split('\n').flatMap((line) => (unclearProse.test(line) ? [`${path}: ${line.trim()}`] : [])),
    );
    expect(found).toEqual([]);
  });

  test('a glossary of at most forty entries has the rest', () => {
    const rows = readProjectFile('docs/development/glossary.md').match(/^\| (?!Word \||---)/gm) ?? [];
    expect(rows.length).toBeLessThanOrEqual(40);
    expect(rows.length).toBeGreaterThan(10);
  });
});
