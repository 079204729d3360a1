/** What stood on a command line. */
export interface Arguments {
  /** Values by option name without dashes; options without a value have `''`. */
  readonly options: ReadonlyMap<string, string>;
  /** The same, for options that may come several times. */
  readonly all: readonly (readonly [name: string, value: string])[];
  readonly operands: readonly string[];
  /** An option that the program does not know. */
  readonly unknown: string | undefined;
}

export interface Grammar {
  /** Letters, those with a value followed by a colon: `ab:c`. */
  readonly short?: string;
  /** Names; those with a value end in `=`, those that may have one in `?=`. */
  readonly long?: readonly string[];
  /** Long names and the letter that means the same. */
  readonly same?: Readonly<Record<string, string>>;
  /** The first operand ends the options. */
  readonly strict?: boolean;
}

/** Takes a command line apart as getopt_long does. */
export function parseArguments(args: readonly string[], grammar: Grammar): Arguments {
  const all: [string, string][] = [];
  const operands: string[] = [];
  const rest = [...args];
  let unknown: string | undefined;
  const add = (name: string, value: string): void => {
    all.push([grammar.same?.[name] ?? name, value]);
  };
  while (rest.length > 0) {
    const word = rest.shift() ?? '';
    if (word === '--') {
      operands.push(...rest.splice(0));
    } else if (word.startsWith('--')) {
      const [, name = '', value] = /^--([^=]*)(?:=([\s\S]*))?$/.exec(word) ?? [];
      const known = findLong(name, grammar.long ?? []);
      if (known === undefined) unknown ??= word;
      else if (known.endsWith('?=')) add(known.slice(0, -2), value ?? '');
      else if (known.endsWith('=')) add(known.slice(0, -1), value ?? rest.shift() ?? '');
      else add(known, '');
    } else if (word.startsWith('-') && word !== '-') {
      unknown ??= takeLetters(word, rest, grammar.short ?? '', add);
    } else {
      operands.push(word);
      if (grammar.strict) operands.push(...rest.splice(0));
    }
  }
  return { options: new Map(all), all, operands, unknown };
}

/** A long name, or its beginning where only one begins so. */
function findLong(name: string, names: readonly string[]): string | undefined {
  const bare = (one: string): string => one.replace(/\??=$/, '');
  const exact = names.find((one) => bare(one) === name);
  if (exact !== undefined) return exact;
  const begin = names.filter((one) => bare(one).startsWith(name));
  return begin.length === 1 ? begin[0] : undefined;
}

function takeLetters(
  word: string,
  rest: string[],
  letters: string,
  add: (name: string, value: string) => void,
): string | undefined {
  for (let at = 1; at < word.length; at += 1) {
    const letter = word[at] ?? '';
    const index = letters.indexOf(letter);
    if (index < 0 || letter === ':') return `-${letter}`;
    if (letters[index + 1] !== ':') add(letter, '');
    else {
      add(letter, at + 1 < word.length ? word.slice(at + 1) : (rest.shift() ?? ''));
      return undefined;
    }
  }
  return undefined;
}
