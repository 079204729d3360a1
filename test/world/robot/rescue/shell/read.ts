import type { Shell } from './shell.ts';

/** `read`: one line, byte by byte so that nothing behind it is taken, split over the variables. */
export async function read(shell: Shell, args: readonly string[]): Promise<number> {
  const words = args.slice(1);
  let raw = false;
  let delimiter = '\n';
  let array: string | undefined;
  while (/^-./.test(words[0] ?? '')) {
    const flag = words.shift() ?? '';
    if (flag.includes('r')) raw = true;
    if (flag.endsWith('d') && shell.state.isBash) delimiter = (words.shift() ?? '').slice(0, 1) || '\0';
    if (flag.endsWith('a') && shell.state.isBash) array = words.shift();
    if (/[ptnu]$/.test(flag)) words.shift();
  }
  const { text, ended } = await readLine(shell, delimiter, raw);
  const ifs = shell.state.get('IFS') ?? ' \t\n';
  const names = words.length > 0 ? words : ['REPLY'];
  if (array !== undefined) shell.state.set(array, splitAll(text, ifs));
  else if (words.length === 0) shell.state.set('REPLY', text.map(({ char }) => char).join(''));
  else
    for (const [index, value] of assign(text, ifs, names.length).entries()) shell.state.set(names[index] ?? '', value);
  return ended ? 1 : 0;
}

interface Char {
  readonly char: string;
  readonly escaped: boolean;
}

async function readLine(shell: Shell, delimiter: string, raw: boolean): Promise<{ text: Char[]; ended: boolean }> {
  const text: Char[] = [];
  let escaped = false;
  for (;;) {
    const bytes = await shell.process.read(0, 1);
    if (bytes.length === 0) return { text, ended: true };
    const char = bytes.toString('latin1');
    if (escaped) {
      escaped = false;
      if (char !== '\n') text.push({ char, escaped: true });
    } else if (char === '\\' && !raw) escaped = true;
    else if (char === delimiter) return { text, ended: false };
    else text.push({ char, escaped: false });
  }
}

/** The last variable gets what is left, without white space at its end. */
function assign(text: readonly Char[], ifs: string, names: number): string[] {
  const isSpace = ({ char, escaped }: Char): boolean => !escaped && /[ \t\n]/.test(char) && ifs.includes(char);
  const isSeparator = ({ char, escaped }: Char): boolean => !escaped && ifs.includes(char);
  const values: string[] = [];
  let at = 0;
  const skipSpace = (): void => {
    for (let one = text[at]; one && isSpace(one); one = text[at]) at += 1;
  };
  skipSpace();
  for (let index = 0; index < names - 1; index += 1) {
    let value = '';
    for (let one = text[at]; one && !isSeparator(one); one = text[at]) {
      value += one.char;
      at += 1;
    }
    values.push(value);
    skipSpace();
    const next = text[at];
    if (next && isSeparator(next) && !isSpace(next)) {
      at += 1;
      skipSpace();
    }
  }
  const rest = text.slice(at);
  for (let last = rest.at(-1); last && isSpace(last); last = rest.at(-1)) rest.pop();
  // One separator at the very end belongs to the last word.
  const [only] = rest.filter((one) => isSeparator(one) && !isSpace(one));
  if (only && rest.at(-1) === only && rest.indexOf(only) === rest.length - 1) rest.pop();
  return [...values, rest.map(({ char }) => char).join('')];
}

function splitAll(text: readonly Char[], ifs: string): string[] {
  const found: string[] = [];
  let value: string | undefined;
  for (const { char, escaped } of text) {
    if (escaped || !ifs.includes(char)) value = (value ?? '') + char;
    else if (/\s/.test(char)) {
      if (value !== undefined) found.push(value);
      value = undefined;
    } else {
      found.push(value ?? '');
      value = undefined;
    }
  }
  if (value !== undefined) found.push(value);
  return found;
}
