const simple: Readonly<Record<string, string>> = {
  a: '\x07',
  b: '\b',
  e: '\x1b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
  '\\': '\\',
};

/** Replaces backslash escapes; bash also knows `\x41`. `stops`: `\c` came, and nothing after it is printed. */
export function unescapeText(
  text: string,
  dialect: 'dash' | 'bash',
  isFormat = false,
): { text: string; stops: boolean } {
  const end = text.search(/(?<=(?:^|[^\\])(?:\\\\)*)\\c/);
  const whole = end < 0 ? text : text.slice(0, end);
  // The octal numbers of `%b` and `echo` begin with a zero that is not one of the three digits.
  const octal = isFormat ? '[0-7]{1,3}' : '0[0-7]{0,3}';
  const hex = dialect === 'bash' ? '[0-9A-Fa-f]{1,2}' : '(?!)';
  const escapes = new RegExp(`\\\\(?:([abefnrtv\\\\])|(${octal})|x(${hex}))`, 'g');
  const replaced = whole.replace(escapes, (_, letter?: string, digits?: string, code?: string) => {
    if (letter !== undefined) return simple[letter] ?? '';
    const value = digits === undefined ? Number.parseInt(code ?? '', 16) : Number.parseInt(digits, 8);
    return String.fromCharCode(value & 0xff);
  });
  return { text: replaced, stops: end >= 0 };
}

/** What `printf` made of its arguments. */
export interface Printed {
  readonly text: string;
  /** A directive that is not simulated: text ends before it. */
  readonly invalid?: string;
}

/** The format again and again, until all arguments are printed. It knows `%s`, `%b` and `%%`. */
export function print(format: string, args: readonly string[], dialect: 'dash' | 'bash'): Printed {
  const rest = [...args];
  let text = '';
  for (;;) {
    const before = rest.length;
    for (const [piece] of format.matchAll(/%[\s\S]?|[^%]+/g)) {
      if (piece === '%%') text += '%';
      else if (piece === '%s') text += rest.shift() ?? '';
      else if (piece === '%b') {
        const found = unescapeText(rest.shift() ?? '', dialect);
        text += found.text;
        if (found.stops) return { text };
      } else if (piece.startsWith('%')) return { text, invalid: piece.slice(1) };
      else text += unescapeText(piece, dialect, true).text;
    }
    if (rest.length === 0 || rest.length === before) return { text };
  }
}
