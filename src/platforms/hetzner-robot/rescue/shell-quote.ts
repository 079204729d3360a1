/**
 * Quotes a text as one word for a POSIX shell. All values reach a command line this way: the shell does not interpret
 * text between single quotes, and a single quote itself is inserted between two quoted parts.
 */
export function shellQuote(arg: string): string {
  // A program argument cannot contain NUL: the rest would be lost silently.
  if (arg.includes('\0')) throw new TypeError('a word for a shell cannot have a NUL in it');
  return `'${arg.replaceAll("'", "'\\''")}'`;
}

/** A command with its arguments. */
export const toShellCommand = (...words: readonly string[]): string => words.map(shellQuote).join(' ');

/** A script for `sh` with these arguments as `$1`, `$2` and so on. Values are never inserted into its text. */
export const toShellScript = (script: string, ...args: readonly string[]): string =>
  `exec ${toShellCommand('sh', '-c', script, 'sh', ...args)}`;
