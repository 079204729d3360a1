import type { FileSystem } from '../files/file-system.ts';
import { Errno } from '../io/errno.ts';
import { isPattern, type PatternPiece, patternSource } from './pattern.ts';

/** Existing paths that a pattern matches, sorted by bytes. Names with a dot in front only when the pattern has it. */
export function expandPaths(files: FileSystem, cwd: string, pieces: readonly PatternPiece[]): string[] {
  const segments = toSegments(pieces);
  const isAbsolute = segments[0]?.length === 0 && segments.length > 1;
  let found = [isAbsolute ? '/' : ''];
  for (const segment of isAbsolute ? segments.slice(1) : segments) {
    found = found.flatMap((base) => step(files, cwd, base, segment));
  }
  return found.sort();
}

function toSegments(pieces: readonly PatternPiece[]): PatternPiece[][] {
  const segments: PatternPiece[][] = [[]];
  for (const { text, quoted } of pieces) {
    for (const [index, part] of text.split('/').entries()) {
      if (index > 0) segments.push([]);
      if (part !== '') segments.at(-1)?.push({ text: part, quoted });
    }
  }
  return segments;
}

function step(files: FileSystem, cwd: string, base: string, segment: readonly PatternPiece[]): string[] {
  const join = (name: string): string => (base === '' || base.endsWith('/') ? `${base}${name}` : `${base}/${name}`);
  const plain = segment.map((chunk) => chunk.text).join('');
  if (!isPattern(segment)) return plain === '' ? [`${base}/`] : files.exists(join(plain), cwd) ? [join(plain)] : [];
  const matches = new RegExp(`^${patternSource(segment, '[^/]')}$`);
  try {
    const node = files.get(base === '' ? '.' : base, cwd);
    if (node.kind !== 'directory') return [];
    const names = [...node.list().keys()].filter((name) => matches.test(name));
    return names.filter((name) => !name.startsWith('.') || plain.startsWith('.')).map(join);
  } catch (error) {
    if (error instanceof Errno) return [];
    throw error;
  }
}
