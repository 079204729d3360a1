import { describe, expect, test } from 'vitest';
import { conditionReasons } from '../../src/api/conditions.ts';
import { platforms } from '../../src/platforms/index.ts';
import { generatedFiles } from '../setup/generated-files.ts';
import { allErrorCodes } from '../setup/reference-pages.ts';
import { isTestFile, projectFiles, readProjectFile, sourceFiles } from './source-tree.ts';

const readme = readProjectFile('README.md');

/** The first cells of every row of the tables in a text. */
const firstCells = (text: string): readonly string[] =>
  [...text.matchAll(/^\| `?([^`|]+?)`? \|/gm)].map((match) => match[1] ?? '');

/** The anchors that GitHub gives to the headings of a page. */
const anchorsOf = (text: string): readonly string[] =>
  [...text.replaceAll(/^```.*?^```/gms, '').matchAll(/^#+ (.+)$/gm)].map(([, title = '']) =>
    title
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
      .trim()
      .replaceAll(' ', '-'),
  );

describe('the README', () => {
  test('is short, and holds nothing that is generated', () => {
    expect(readme.trimEnd().split('\n').length).toBeLessThanOrEqual(120);
    expect(readme).not.toContain('<!-- generated:');
  });

  test('leads to every page of docs but decisions', () => {
    const pages = projectFiles.filter((path) => /^docs\/.*\.md$/.test(path) && !path.startsWith('docs/adr/'));
    expect(pages.filter((path) => !readme.includes(`](${path})`))).toEqual([]);
  });

  test('links only to files that exist', () => {
    for (const doc of projectFiles.filter((path) => path.endsWith('.md'))) {
      const links = [...readProjectFile(doc).matchAll(/\]\((?!https?:|#|mailto:)([^)#\s]+)/g)].map(
        (match) => match[1] ?? '',
      );
      const folder = doc.includes('/') ? doc.slice(0, doc.lastIndexOf('/') + 1) : '';
      for (const link of links) {
        const target = new URL(link, `file:///${folder}`).pathname.slice(1);
        const isThere = projectFiles.some(
          (path) => path === target || path.startsWith(`${target.replace(/\/$/, '')}/`),
        );
        expect(isThere, `${doc} links to ${link}`).toBe(true);
      }
    }
  });

  test('links only to headings that are there', () => {
    for (const doc of projectFiles.filter((path) => path.endsWith('.md'))) {
      for (const [, file = '', anchor = ''] of readProjectFile(doc).matchAll(
        /\]\(((?!https?:|mailto:)[^)#\s]*)#([^)\s]+)\)/g,
      )) {
        const target = file === '' ? doc : new URL(file, `file:///${doc}`).pathname.slice(1);
        expect(anchorsOf(readProjectFile(target)), `${doc} links to ${file}#${anchor}`).toContain(anchor);
      }
    }
  });

  test('names only npm commands that exist', () => {
    const { scripts } = JSON.parse(readProjectFile('package.json')) as { scripts: Record<string, string> };
    for (const doc of projectFiles.filter((path) => path.endsWith('.md'))) {
      for (const [, name = ''] of readProjectFile(doc).matchAll(/npm run (?:--silent )?([a-z]+)/g)) {
        expect(Object.keys(scripts), `${doc}: npm run ${name}`).toContain(name);
      }
    }
  });

  test('names only files that exist', () => {
    const docs = projectFiles.filter((path) => path === 'README.md' || /^docs\/.*\.md$/.test(path));
    for (const doc of docs.filter((path) => !path.startsWith('docs/adr/'))) {
      for (const [, path = ''] of readProjectFile(doc).matchAll(/`((?:src|test|config|docs)\/[\w./-]+)`/g)) {
        const isThere = projectFiles.some((file) => file === path || file.startsWith(`${path.replace(/\/$/, '')}/`));
        expect(isThere, `${doc} names ${path}`).toBe(true);
      }
    }
  });
});

test('the reference has no page that is not generated', () => {
  const made = generatedFiles();
  expect(projectFiles.filter((path) => path.startsWith('docs/reference/') && !made.has(path))).toEqual([]);
});

test('each simulator has a README', () => {
  const folders = new Set(projectFiles.flatMap((path) => /^test\/world\/[^/]+\//.exec(path) ?? []));
  expect([...folders].filter((folder) => !projectFiles.includes(`${folder}README.md`))).toEqual([]);
});

test('troubleshooting tells what to do about each reason', () => {
  const pages = projectFiles.filter((path) => path === 'docs/troubleshoot.md' || path.startsWith('docs/platforms/'));
  const text = pages.map((path) => readProjectFile(path)).join('\n');
  const reasons = Object.keys(conditionReasons).filter((reason) => reason !== 'AsExpected');
  expect(reasons.filter((reason) => !text.includes(`\`${reason}\``))).toEqual([]);
});

describe.each(platforms.map((platform) => ({ name: platform.name, platform })))('platform $name', ({ platform }) => {
  const folder = platform.name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
  const path = `src/platforms/${folder}/README.md`;

  test('describes in its README each of its steps, in order', () => {
    const cells = firstCells(readProjectFile(path));
    const told = (names: readonly string[]) => cells.filter((cell) => names.includes(cell));
    const { provision, postJoin, release, repair, hardware } = platform;
    const hardwareSteps = [...(hardware?.admission ?? []), ...(hardware?.steps ?? [])];
    for (const list of [provision, postJoin, release, repair?.steps ?? [], hardwareSteps]) {
      const names = list.map((step) => step.name);
      expect(told(names), path).toEqual(names);
    }
  });

  test('describes in its guide the remedy for each reason of a failed or waiting step and of drift', () => {
    const steps = sourceFiles(`src/platforms/${folder}`).filter((file) => !isTestFile(file));
    const reasons = steps.flatMap((file) =>
      [...readProjectFile(file).matchAll(/\b(?:fail|waitFor|drift)\(\s*'(\w+)'/g)].map((match) => match[1]),
    );
    const guide = ['docs/troubleshoot.md', `docs/platforms/${folder}.md`].map(readProjectFile).join('\n');
    expect(reasons.filter((reason) => !guide.includes(`\`${reason}\``))).toEqual([]);
  });

  test('lists the rights that it needs and what it leaves behind', () => {
    expect(readProjectFile(path)).toMatch(/^## .*(needs|permissions|rights)/im);
    expect(readProjectFile(path)).toMatch(/left behind/i);
  });
});

describe('error codes', () => {
  const texts = sourceFiles('src')
    .filter((path) => path !== 'src/lib/errors.ts' && !path.endsWith('/error-codes.ts'))
    .map((path) => readProjectFile(path))
    .join('\n');

  test('every code in the table can occur', () => {
    const unused = Object.keys(allErrorCodes).filter((code) => !new RegExp(`\\b${code}\\b`).test(texts));
    expect(unused).toEqual([]);
  });

  test('every message is a sentence', () => {
    for (const [code, { message }] of Object.entries(allErrorCodes)) expect(message, code).toMatch(/^[A-Z].*\.$/);
  });
});

describe('architecture decision records', () => {
  const records = projectFiles.filter((path) => /^docs\/adr\/\d[^/]+\.md$/.test(path));

  test('are numbered without a gap', () => {
    const numbers = records.map((path) => Number(/(\d{4})-/.exec(path)?.[1]));
    expect(numbers).toEqual(numbers.map((_, index) => index + 1));
  });
});
