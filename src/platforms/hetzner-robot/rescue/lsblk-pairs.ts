/**
 * Parses a line of `lsblk -P`: `NAME="sda" MODEL="EXAMPLE\x20HD"`. Values come from drives and disks: quotes, dollars,
 * back-quotes and unprintable bytes are written as `\xNN`, one for each byte (util-linux: lib/carefulputc.h). Throws
 * for any other line.
 */
export function parseLsblkLine(line: string): Readonly<Record<string, string>> {
  const found: Record<string, string> = {};
  let rest = line.trim();
  while (rest !== '') {
    // Newer versions write `MAJ_MIN` for `MAJ:MIN`, and `%` as `_PCT`.
    const match = /^([A-Z][A-Z0-9_:%-]*)="((?:[^"\\]|\\.)*)"(?: +|$)/.exec(rest);
    if (!match) throw new SyntaxError(`not a line of pairs: ${line.slice(0, 200)}`);
    const [all, name = '', value = ''] = match;
    found[name] = unescapeHex(value);
    rest = rest.slice(all.length);
  }
  return found;
}

export const parseLsblk = (text: string): Readonly<Record<string, string>>[] =>
  text
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map(parseLsblkLine);

/** Each `\xNN` is one byte, and several can be one character. */
export function unescapeHex(text: string): string {
  return text.replace(/(?:\\x[0-9a-fA-F]{2})+/g, (run) => Buffer.from(run.replaceAll('\\x', ''), 'hex').toString());
}
