import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../setup/generated.ts';

/** Every file that is part of the project or about to become so, by its path below the root. */
export const files: readonly string[] = listFiles();

function listFiles(): readonly string[] {
  const words = ['ls-files', '--cached', '--others', '--exclude-standard', '-z'];
  const listed = execFileSync('git', words, { cwd: root, encoding: 'utf8', maxBuffer: 2 ** 26 }).split('\0');
  return [...new Set(listed)].filter((path) => path !== '' && isThere(path)).sort();
}

function isThere(path: string): boolean {
  try {
    readFileSync(join(root, path));
    return true;
  } catch {
    return false;
  }
}

export const read = (path: string): string => readFileSync(join(root, path), 'utf8');

/** Our own TypeScript below a folder; what is generated does not count. */
export const sources = (folder: string): readonly string[] =>
  files.filter((path) => path.startsWith(`${folder}/`) && path.endsWith('.ts') && !path.startsWith('src/talos/gen/'));

export const isTest = (path: string): boolean => path.endsWith('.test.ts');

/** What a file imports, statically or not, each with the words before `from`. */
export function importsOf(path: string): readonly string[] {
  const text = read(path);
  const patterns = [/^\s*(?:import|export)\s[^'"`;]*?from\s+['"]([^'"]+)['"]/gm, /\bimport\(\s*['"]([^'"]+)['"]\s*\)/g];
  const bare = [...text.matchAll(/^\s*import\s+['"]([^'"]+)['"]/gm)];
  return [...patterns.flatMap((pattern) => [...text.matchAll(pattern)]), ...bare].map((match) => match[1] ?? '');
}
