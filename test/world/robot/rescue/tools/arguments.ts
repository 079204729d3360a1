import type { RescueProcess } from '../process.ts';

/** A command line. */
export interface Arguments {
  /** Values by option name without dashes; options without a value have `''`. */
  readonly options: ReadonlyMap<string, string>;
  readonly operands: readonly string[];
}

export interface Grammar {
  /** Letters, those with a value followed by a colon: `ab:c`. */
  readonly short?: string;
  /** Names; those with a value end in `=`. */
  readonly long?: readonly string[];
  /** The first operand ends the options. */
  readonly strict?: true;
}

/** An option that is not simulated: the program ends with a message. */
export class UsageError extends Error {}

/** Parses a command line as getopt_long does. Throws a {@link UsageError}. */
export function parseArguments(process: RescueProcess, { short = '', long = [], strict }: Grammar): Arguments {
  const options = new Map<string, string>();
  const operands: string[] = [];
  const rest = process.args.slice(1);
  for (let word = rest.shift(); word !== undefined; word = rest.shift()) {
    if (word.startsWith('--')) {
      const [, name = '', value] = /^--([^=]*)(?:=([\s\S]*))?$/.exec(word) ?? [];
      const takesValue = long.includes(`${name}=`);
      if (!takesValue && (value !== undefined || !long.includes(name))) throw new UsageError(word);
      options.set(name, takesValue ? (value ?? rest.shift() ?? '') : '');
    } else if (word.startsWith('-') && word !== '-') takeLetters(word, rest, short, options);
    else {
      operands.push(word);
      if (strict) operands.push(...rest.splice(0));
    }
  }
  return { options, operands };
}

function takeLetters(word: string, rest: string[], letters: string, options: Map<string, string>): void {
  for (let at = 1; at < word.length; at += 1) {
    const letter = word[at] ?? '';
    const index = letters.indexOf(letter);
    if (index < 0 || letter === ':') throw new UsageError(`-${letter}`);
    if (letters[index + 1] !== ':') options.set(letter, '');
    else {
      options.set(letter, at + 1 < word.length ? word.slice(at + 1) : (rest.shift() ?? ''));
      return;
    }
  }
}
