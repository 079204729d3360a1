/** Pieces of a pattern: quoted characters stand for themselves. */
export interface PatternPiece {
  readonly text: string;
  readonly quoted: boolean;
}

/** Whether anything in it is more than itself. */
export const isPattern = (pieces: readonly PatternPiece[]): boolean =>
  pieces.some(({ text, quoted }) => !quoted && /[*?[]/.test(text));

/** The source of a regular expression for a shell pattern. `any` is what `*` and `?` match. */
export function patternSource(pieces: readonly PatternPiece[], any = '[\\s\\S]'): string {
  const unquoted = (text: string): string =>
    text.replace(
      /\*|\?|\[(!?)((?:\[:[a-z]+:\]|[^\]/])+)\]|[\s\S]/g,
      (char, negated: string | undefined, set: string | undefined) => {
        if (char === '*') return `${any}*`;
        if (char === '?') return any;
        if (set === undefined) return literal(char);
        const ranges = set.replace(/\[:([a-z]+):\]|[\\[\]^]/g, (one, name?: string) =>
          name ? rangeOf(name) : `\\${one}`,
        );
        return `[${negated ? '^' : ''}${ranges}]`;
      },
    );
  return pieces.map(({ text, quoted }) => (quoted ? literal(text) : unquoted(text))).join('');
}

function rangeOf(name: string): string {
  const range = { alpha: 'A-Za-z', digit: '0-9', space: '\\s' }[name];
  if (range === undefined) throw new Error(`the class [:${name}:] is not simulated`);
  return range;
}

const literal = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&');

/** A whole-string test. */
export const matcher = (pieces: readonly PatternPiece[]): RegExp => new RegExp(`^(?:${patternSource(pieces)})$`);
