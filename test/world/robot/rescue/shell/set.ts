import { Exit } from './jumps.ts';
import type { Shell } from './shell.ts';
import type { Options } from './state.ts';

const letters: Readonly<Record<string, keyof Options>> = { e: 'errexit', u: 'nounset', x: 'xtrace', f: 'noglob' };
const ignored = new Set('abhmnvBCEHTPk'.split(''));
const ignoredNames = new Set(
  'allexport braceexpand errtrace functrace hashall ignoreeof monitor noclobber noexec posix'.split(' '),
);

/** `set`: options and positional parameters. dash knows no `pipefail`, and ends with it. */
export async function setOptions(shell: Shell, args: readonly string[]): Promise<number> {
  const words = args.slice(1);
  while (words.length > 0) {
    const [word = ''] = words;
    if (word === '--' || word === '-') {
      shell.state.positional = words.slice(1);
      return 0;
    }
    if (!/^[-+]./.test(word)) break;
    words.shift();
    const value = word.startsWith('-');
    for (const letter of word.slice(1)) {
      if (letter === 'o') await setNamed(shell, words.shift(), value);
      else await setLetter(shell, letter, value);
    }
  }
  if (words.length > 0) shell.state.positional = words;
  return 0;
}

async function setLetter(shell: Shell, letter: string, value: boolean): Promise<void> {
  const option = letters[letter];
  if (option) shell.state.options[option] = value;
  else if (!ignored.has(letter)) await refuse(shell, `${value ? '-' : '+'}${letter}`);
}

async function setNamed(shell: Shell, name: string | undefined, value: boolean): Promise<void> {
  const { options, isBash } = shell.state;
  if (name === undefined) return;
  const isKnown = Object.values(letters).includes(name as keyof Options) || (name === 'pipefail' && isBash);
  if (isKnown) options[name as keyof Options] = value;
  else if (!ignoredNames.has(name)) await refuse(shell, name, value);
}

async function refuse(shell: Shell, name: string, value = true): Promise<void> {
  const { prefix, isBash } = shell.state;
  if (isBash) {
    const kind = /^[-+]/.test(name) ? `${name}: invalid option` : `${name}: invalid option name`;
    await shell.process.error(`${prefix}set: ${kind}\n`);
    throw new Exit(/^[-+]/.test(name) ? 2 : 1);
  }
  const shown = /^[-+]/.test(name) ? name : `${value ? '-' : '+'}o ${name}`;
  await shell.process.error(`${prefix}set: Illegal option ${shown}\n`);
  throw new Exit(2);
}
