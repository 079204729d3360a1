import { commonClasses } from './classes.ts';

/** Pieces of a pattern: quoted characters stand for themselves. */
export interface PatternPiece {
  readonly text: string;
  readonly quoted: boolean;
}

/** Whether anything in it is more than itself. */
export const isPattern = (pieces: readonly PatternPiece[]): boolean =>
  pieces.some(({ text, quoted }) => !quoted && /[*?[]/.test(text));

/** The source of a regular expression for a shell pattern. `star` is what `*` and `?` do not cross in paths. */
export function patternSource(pieces: readonly PatternPiece[], any = '[\\s\\S]'): string {
  const chars = pieces.flatMap(({ text, quoted }) => [...text].map((char) => ({ char, quoted })));
  let source = '';
  for (let at = 0; at < chars.length; at += 1) {
    const { char, quoted } = chars[at] ?? { char: '', quoted: true };
    if (quoted) source += literal(char);
    else if (char === '*') source += `${any}*`;
    else if (char === '?') source += any;
    else if (char === '\\' && at + 1 < chars.length) {
      at += 1;
      source += literal(chars[at]?.char ?? '');
    } else if (char === '[') {
      const end = bracketEnd(chars, at);
      source += end === undefined ? '\\[' : bracket(chars.slice(at + 1, end).map((one) => one));
      if (end !== undefined) at = end;
    } else source += literal(char);
  }
  return source;
}

interface Char {
  readonly char: string;
  readonly quoted: boolean;
}

const literal = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&');

function bracketEnd(chars: readonly Char[], begin: number): number | undefined {
  let at = begin + 1;
  if (/[!^]/.test(chars[at]?.char ?? '')) at += 1;
  if (chars[at]?.char === ']') at += 1;
  for (; at < chars.length; at += 1) {
    const { char = '', quoted = false } = chars[at] ?? {};
    if (char === '[' && chars[at + 1]?.char === ':') {
      const close = chars.findIndex(
        (one, index) => index > at + 1 && one.char === ':' && chars[index + 1]?.char === ']',
      );
      if (close > 0) at = close + 1;
    } else if (char === ']' && !quoted) return at;
  }
  return undefined;
}

const classes: Readonly<Record<string, string>> = {
  ...commonClasses,
  print: ' -~',
  graph: '!-~',
  cntrl: '\\x00-\\x1f\\x7f',
};

function bracket(chars: readonly Char[]): string {
  const negated = /[!^]/.test(chars[0]?.char ?? '') && !chars[0]?.quoted;
  const text = chars
    .slice(negated ? 1 : 0)
    .map(({ char, quoted }, index, all) => {
      const isRange = char === '-' && !quoted && index > 0 && index < all.length - 1;
      return isRange ? '-' : /[\\\]^-]/.test(char) ? `\\${char}` : char;
    })
    .join('');
  const body = text.replace(/\[:([a-z]+):\\\]/g, (all, name: string) => classes[name] ?? all);
  return `[${negated ? '^' : ''}${body.replaceAll('[', '\\[').replaceAll('\\\\[', '\\[')}]`;
}

/** A whole-string test. */
export const matcher = (pieces: readonly PatternPiece[]): RegExp => new RegExp(`^(?:${patternSource(pieces)})$`);

/** What is left of a value when the shortest or longest match at one of its ends is taken away. */
export function trim(value: string, pieces: readonly PatternPiece[], operator: '#' | '##' | '%' | '%%'): string {
  const matches = matcher(pieces);
  const lengths = Array.from({ length: value.length + 1 }, (_, index) => index);
  if (operator.length === 2) lengths.reverse();
  for (const length of lengths) {
    const isPrefix = operator.startsWith('#');
    const part = isPrefix ? value.slice(0, length) : value.slice(value.length - length);
    if (matches.test(part)) return isPrefix ? value.slice(length) : value.slice(0, value.length - length);
  }
  return value;
}
