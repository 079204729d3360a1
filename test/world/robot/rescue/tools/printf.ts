/** What `printf` made of its arguments. */
export interface Printed {
  readonly text: string;
  /** Complaints, without the program's name. */
  readonly errors: readonly string[];
}

const simple: Readonly<Record<string, string>> = {
  a: '\x07',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
  '\\': '\\',
};

export interface EscapeRules {
  /** `\x41`, `\e` and `\u` are known. */
  readonly extended: boolean;
  /** Octal numbers begin with a zero that is not one of the three digits: `%b` and `echo`. */
  readonly zeroFirst: boolean;
}

/** Replaces backslash escapes. `stops`: `\c` came, and nothing after it is printed. */
export function unescapeText(text: string, rules: EscapeRules): { text: string; stops: boolean } {
  const expression =
    /\\(?:([abfnrtv\\])|(c)|(0[0-7]{0,3}|[0-7]{1,3})|x([0-9A-Fa-f]{1,2})|(e|E)|u([0-9A-Fa-f]{1,4})|(["'?]))/g;
  let found = '';
  let last = 0;
  for (const match of text.matchAll(expression)) {
    const [whole, letter, stop, octal, hex, control, unicode, quote] = match;
    found += text.slice(last, match.index);
    last = match.index + whole.length;
    if (stop) return { text: found, stops: true };
    if (letter) found += simple[letter] ?? '';
    else if (octal !== undefined) found += octalText(octal, whole, rules);
    else if (rules.extended && hex !== undefined) found += String.fromCharCode(Number.parseInt(hex, 16));
    else if (control) found += '\x1b';
    else if (rules.extended && unicode !== undefined) {
      found += Buffer.from(String.fromCodePoint(Number.parseInt(unicode, 16))).toString('latin1');
    } else found += quote === '"' && !rules.zeroFirst ? '"' : whole;
  }
  return { text: found + text.slice(last), stops: false };
}

function octalText(octal: string, whole: string, { zeroFirst }: EscapeRules): string {
  if (zeroFirst) {
    if (!octal.startsWith('0')) return whole;
    return String.fromCharCode(Number.parseInt(octal, 8) & 0xff);
  }
  return String.fromCharCode(Number.parseInt(octal.slice(0, 3), 8) & 0xff) + octal.slice(3);
}

/** The format again and again, until all arguments are printed. */
export function print(format: string, args: readonly string[], dialect: 'dash' | 'bash'): Printed {
  const errors: string[] = [];
  const rest = [...args];
  let text = '';
  for (;;) {
    const before = rest.length;
    const round = printOnce(format, rest, dialect, errors);
    text += round.text;
    if (round.stops || rest.length === 0 || rest.length === before) return { text, errors };
  }
}

function printOnce(
  format: string,
  rest: string[],
  dialect: 'dash' | 'bash',
  errors: string[],
): { text: string; stops: boolean } {
  const rules = { extended: dialect === 'bash', zeroFirst: false };
  const directive = /%(?:%|([-+ 0#]*)(\*|\d+)?(?:\.(\*|-?\d*))?([a-zA-Z]))/g;
  let text = '';
  let last = 0;
  for (const match of format.matchAll(directive)) {
    const plain = unescapeText(format.slice(last, match.index), rules);
    text += plain.text;
    if (plain.stops) return { text, stops: true };
    last = match.index + match[0].length;
    if (match[0] === '%%') {
      text += '%';
      continue;
    }
    const [, flags = '', width, precision, kind = ''] = match;
    const size = (given: string | undefined): number | undefined =>
      given === undefined ? undefined : given === '*' ? Number(rest.shift() ?? 0) : Number(given || 0);
    const layout = { flags, width: size(width) ?? 0, precision: size(precision) };
    const result = convert(kind, layout, rest, dialect, errors);
    text += result.text;
    if (result.stops) return { text, stops: true };
  }
  const tail = unescapeText(format.slice(last), rules);
  return { text: text + tail.text, stops: tail.stops };
}

interface Layout {
  readonly flags: string;
  readonly width: number;
  readonly precision: number | undefined;
}

function convert(
  kind: string,
  layout: Layout,
  rest: string[],
  dialect: 'dash' | 'bash',
  errors: string[],
): { text: string; stops: boolean } {
  const given = rest.shift();
  const done = (text: string): { text: string; stops: boolean } => ({ text: pad(text, layout), stops: false });
  switch (kind) {
    case 's':
      return done((given ?? '').slice(0, layout.precision));
    case 'b': {
      const found = unescapeText(given ?? '', { extended: dialect === 'bash', zeroFirst: true });
      return { text: pad(found.text, layout), stops: found.stops };
    }
    case 'c':
      return done((given ?? '').slice(0, 1));
    case 'q':
      if (dialect === 'bash') return done(quote(given ?? ''));
      break;
    case 'd':
    case 'i':
    case 'u':
    case 'x':
    case 'X':
    case 'o':
      return done(number(kind, toInteger(given, dialect, errors), layout));
    case 'f':
      return done(Number(given ?? 0).toFixed(layout.precision ?? 6));
  }
  errors.push(dialect === 'bash' ? `\`${kind}': invalid format character` : `%${kind}: invalid directive`);
  return { text: '', stops: true };
}

function toInteger(given: string | undefined, dialect: 'dash' | 'bash', errors: string[]): bigint {
  if (given === undefined || given === '') {
    if (given === '' && dialect === 'dash') errors.push(': expected numeric value');
    return 0n;
  }
  if (/^["']/.test(given)) return BigInt(given.charCodeAt(1) || 0);
  const [found = ''] = /^\s*[-+]?(?:0[xX][0-9a-fA-F]+|\d+)/.exec(given) ?? [];
  if (found.length < given.length) {
    errors.push(
      dialect === 'bash'
        ? `${given}: invalid number`
        : `${given}: ${found === '' ? 'expected numeric value' : 'not completely converted'}`,
    );
  }
  if (found === '') return 0n;
  const text = found.trim().replace(/^\+/, '');
  const isNegative = text.startsWith('-');
  const digits = isNegative ? text.slice(1) : text;
  const value = BigInt(/^0[0-7]+$/.test(digits) ? `0o${digits.slice(1)}` : digits);
  return isNegative ? -value : value;
}

function number(kind: string, value: bigint, { flags, width, precision }: Layout): string {
  const unsigned = BigInt.asUintN(64, value);
  const digits =
    kind === 'x' || kind === 'X' || kind === 'o' || kind === 'u'
      ? unsigned.toString(kind === 'o' ? 8 : kind === 'u' ? 10 : 16)
      : (value < 0n ? -value : value).toString();
  const sign =
    (kind === 'd' || kind === 'i') && value < 0n
      ? '-'
      : !/[di]/.test(kind)
        ? ''
        : flags.includes('+')
          ? '+'
          : flags.includes(' ')
            ? ' '
            : '';
  const prefix =
    flags.includes('#') && value !== 0n
      ? kind === 'o'
        ? '0'
        : kind === 'u' || /[di]/.test(kind)
          ? ''
          : `0${kind}`
      : '';
  const padded = digits.padStart(precision ?? 0, '0');
  const zeros =
    flags.includes('0') && !flags.includes('-') && precision === undefined
      ? padded.padStart(width - sign.length - prefix.length, '0')
      : padded;
  return sign + prefix + (kind === 'X' ? zeros.toUpperCase() : zeros);
}

const pad = (text: string, { flags, width }: Layout): string =>
  flags.includes('-') ? text.padEnd(width) : text.padStart(width);

/** As bash's `%q` writes a word that a shell reads back. */
function quote(text: string): string {
  if (text === '') return "''";
  if (/[^ -~]/.test(text)) {
    const escaped = text.replace(/[\\']/g, '\\$&').replace(/[^ -~]/g, (char) => {
      const known = {
        '\n': '\\n',
        '\t': '\\t',
        '\r': '\\r',
        '\x07': '\\a',
        '\b': '\\b',
        '\x1b': '\\E',
        '\f': '\\f',
        '\v': '\\v',
      }[char];
      return known ?? `\\${char.charCodeAt(0).toString(8).padStart(3, '0')}`;
    });
    return `$'${escaped}'`;
  }
  return text.replace(/[^\w@%+:./-]|^~/g, (char, at: number) =>
    char === '=' || char === '~' || char === '#' ? (at === 0 && char !== '=' ? `\\${char}` : char) : `\\${char}`,
  );
}
