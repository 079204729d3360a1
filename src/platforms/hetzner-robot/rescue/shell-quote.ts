/**
 * A word for a POSIX shell that means exactly this text. The only way in which anything gets into a command line: no shell
 * looks at anything between single quotes, and a single quote itself is put in between two such pieces.
 */
export function shellQuote(word: string): string {
  // No argument of a program can hold it: the rest would be lost in silence.
  if (word.includes('\0')) throw new TypeError('a word for a shell cannot have a NUL in it');
  return `'${word.replaceAll("'", "'\\''")}'`;
}

/** A command with its arguments. */
export const toShellCommand = (...words: readonly string[]): string => words.map(shellQuote).join(' ');

/** A script for `sh` that gets these arguments as `$1`, `$2` and so on: nothing is ever put into its text. */
export const toShellScript = (script: string, ...args: readonly string[]): string =>
  `exec ${toShellCommand('sh', '-c', script, 'sh', ...args)}`;
