import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { projectRoot } from '../setup/generated-files.ts';

/** Every file that git tracks or would add, by its path below the root. */
export const projectFiles: readonly string[] = listFiles();

function listFiles(): readonly string[] {
  const words = ['ls-files', '--cached', '--others', '--exclude-standard', '-z'];
  const listed = execFileSync('git', words, { cwd: projectRoot, encoding: 'utf8', maxBuffer: 2 ** 26 }).split('\0');
  return [...new Set(listed)].filter((path) => path !== '' && exists(path)).sort();
}

function exists(path: string): boolean {
  try {
    readFileSync(join(projectRoot, path));
    return true;
  } catch {
    return false;
  }
}

export const readProjectFile = (path: string): string => readFileSync(join(projectRoot, path), 'utf8');

/** Our own TypeScript below a folder, without generated files. */
export const sourceFiles = (folder: string): readonly string[] =>
  projectFiles.filter(
    (path) => path.startsWith(`${folder}/`) && /\.tsx?$/.test(path) && !/^src\/[a-z]+\/gen\//.test(path),
  );

export const isTestFile = (path: string): boolean => path.endsWith('.test.ts');

/** The modules that a file imports, statically or dynamically. */
export function importsOf(path: string): readonly string[] {
  const text = readProjectFile(path);
  const patterns = [/^\s*(?:import|export)\s[^'"`;]*?from\s+['"]([^'"]+)['"]/gm, /\bimport\(\s*['"]([^'"]+)['"]\s*\)/g];
  const bare = [...text.matchAll(/^\s*import\s+['"]([^'"]+)['"]/gm)];
  return [...patterns.flatMap((pattern) => [...text.matchAll(pattern)]), ...bare].map((match) => match[1] ?? '');
}
