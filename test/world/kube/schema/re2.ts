/** The conversion of Kubernetes' RE2 patterns to JavaScript, whose syntax differs slightly. */

const perlOnly = /\(\?(?:[=!]|<[=!])/;
const backReference = /(?<!\\)(?:\\\\)*\\[1-9]/;
const leadingFlags = /^\(\?([imsU]+)\)/;
const posixClasses: Readonly<Record<string, string>> = {
  alpha: 'a-zA-Z',
  digit: '0-9',
  alnum: 'a-zA-Z0-9',
  upper: 'A-Z',
  lower: 'a-z',
  space: '\\t\\n\\v\\f\\r ',
  punct: '!-\\/:-@\\[-`{-~',
  xdigit: '0-9A-Fa-f',
  word: '\\w',
};

const compiled = new Map<string, RegExp>();

/** The JavaScript form of an RE2 pattern. Throws a SyntaxError when there is none. */
export function fromRe2(pattern: string): RegExp {
  const known = compiled.get(pattern);
  if (known) return known;
  const flags = leadingFlags.exec(pattern)?.[1] ?? '';
  const body = pattern
    .replace(leadingFlags, '')
    .replace(/\[:(\w+):\]/g, (whole, name: string) => posixClasses[name] ?? whole)
    .replaceAll('(?P<', '(?<')
    .replaceAll('\\A', '^')
    .replaceAll('\\z', '$')
    // JavaScript's `u` mode refuses needless escapes that RE2 accepts.
    .replace(/\\([^\w\s^$\\.*+?()[\]{}|/-])/g, '$1')
    .replace(/(?<!\[[^\]]*)\\-/g, '-');
  const made = new RegExp(body, `u${[...flags].filter((flag) => 'ims'.includes(flag)).join('')}`);
  compiled.set(pattern, made);
  return made;
}

/** RE2's compile error for a pattern, in Go's words for simple errors; undefined for a valid pattern. */
export function patternProblem(pattern: string): string | undefined {
  const perl = perlOnly.exec(pattern)?.[0];
  if (perl) return `error parsing regexp: invalid or unsupported Perl syntax: \`${perl}\``;
  const back = backReference.exec(pattern)?.[0];
  if (back) return `error parsing regexp: invalid escape sequence: \`${back.slice(-2)}\``;
  try {
    fromRe2(pattern);
    return undefined;
  } catch (error) {
    const words = error instanceof Error ? error.message : String(error);
    if (/Unterminated group/.test(words)) return `error parsing regexp: missing closing ): \`${pattern}\``;
    if (/Unmatched '\)'/.test(words)) return `error parsing regexp: unexpected ): \`${pattern}\``;
    if (/Unterminated character class/.test(words)) return `error parsing regexp: missing closing ]: \`${pattern}\``;
    if (/Nothing to repeat/.test(words)) return `error parsing regexp: missing argument to repetition operator: \`*\``;
    return `error parsing regexp: ${words}`;
  }
}
