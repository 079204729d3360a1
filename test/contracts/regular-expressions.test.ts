import { transform } from 'esbuild';
import { describe, expect, it } from 'vitest';
import { parseAst } from 'vitest/node';
import { BacktrackCounter } from '../support/regex/backtrack-counter.ts';
import { findSlowText } from '../support/regex/slow-text.ts';
import { isTestFile, readProjectFile, sourceFiles } from './source-tree.ts';

interface Found {
  readonly path: string;
  readonly source: string;
  readonly flags: string;
}

interface Syntax {
  readonly type: string;
  readonly regex?: { readonly pattern: string; readonly flags: string };
  readonly callee?: { readonly name?: string };
}

function* nodesIn(value: unknown): Generator<Syntax> {
  if (typeof value !== 'object' || value === null) return;
  if ('type' in value && typeof value.type === 'string') yield value as Syntax;
  for (const part of Object.values(value)) yield* nodesIn(part);
}

/** The regular expressions of a file, and whether it constructs expressions at run time. */
async function patternsIn(path: string): Promise<{ patterns: Found[]; isMade: boolean }> {
  const { code } = await transform(readProjectFile(path), {
    loader: path.endsWith('.tsx') ? 'tsx' : 'ts',
    jsx: 'automatic',
    target: 'esnext',
  });
  const nodes = [...nodesIn(parseAst(code))];
  const patterns = nodes.flatMap(({ regex }) => (regex ? [{ path, source: regex.pattern, flags: regex.flags }] : []));
  return { patterns, isMade: nodes.some(({ callee }) => callee?.name === 'RegExp') };
}

const files = sourceFiles('src').filter((path) => !isTestFile(path));
const all = await Promise.all(files.map(async (path) => ({ path, ...(await patternsIn(path)) })));
const patterns = all.flatMap((file) => file.patterns);

describe('regular expressions of the source', () => {
  it('are found', () => {
    expect(patterns.length).toBeGreaterThan(150);
    expect(patterns.map(({ source }) => source)).toContain('^\\d{1,3}$');
  });

  it('are all literals, so that they can be analyzed: none is constructed', () => {
    expect(all.filter(({ isMade }) => isMade).map(({ path }) => path)).toEqual([]);
  });

  it('take linear time for any text: no input can block the process', () => {
    const slow = patterns.flatMap(({ path, source, flags }) => {
      const found = findSlowText({ source, flags });
      if (!found) return [];
      const text = JSON.stringify(found.text);
      return [`${path}: /${source}/${flags} takes ${found.steps.join(', then ')} steps for ${text.slice(0, 60)}`];
    });
    expect(slow).toEqual([]);
  });
});

describe('the search for slow texts', () => {
  it.each([
    [/:v(\d+\.\d+\.\d+[^@]*)(@.*)?$/],
    [/\s+$/],
    [/(a+)+$/],
    [/^(a|a)*$/],
    [/^(\w+\s?)*$/],
    [/^(.*),(.*),(.*)$/],
    [/(\S+)\/disk-([a-z0-9-]+):(\d+)(:raw)?/g],
    [/^([A-Za-z0-9_]*(?:secret|token|passw|key)[A-Za-z0-9_]*)=[\s\S]*$/i],
    [/zpool \(.*\) does not exist/],
    [/_+([a-z0-9])/g],
  ])('finds one for %s', (pattern) => {
    expect(findSlowText(pattern)).toBeDefined();
  });

  it.each([
    [/^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$/],
    [/^(.+)\/disk-([^/]+)$/],
    [/^https?:\/\/[^\s]+$/],
    [/\s+/g],
  ])('finds none for %s', (pattern) => {
    expect(findSlowText(pattern)).toBeUndefined();
  });

  it('matches as V8 does', () => {
    const texts = [
      '',
      'a',
      'ab\nc',
      'x:v1.35.4@sha256:0',
      ':v1.2.3',
      'key=1',
      'a.b-c',
      'Boot0001* disk\tHD(1,GPT',
      '--',
      '/dev/sda: x',
    ];
    for (const { source, flags } of patterns.filter((one) => !/[gy]/.test(one.flags))) {
      const counter = new BacktrackCounter({ source, flags });
      for (const text of texts) {
        expect(counter.count(text).found, `/${source}/${flags} on ${text}`).toBe(
          new RegExp(source, flags).exec(text)?.[0],
        );
      }
    }
  });
});
