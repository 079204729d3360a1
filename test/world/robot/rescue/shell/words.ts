import type { List, Parameter, Part, Word } from './ast.ts';
import type { Scanner } from './scanner.ts';

/** What a word needs of the rest of the grammar: the commands in a substitution. */
export interface Nested {
  /** Commands up to a closing parenthesis, which is taken, too. */
  parseNested(scanner: Scanner): List;
  /** A script of its own. */
  parseScript(source: string, line: number): List;
}

const metacharacters = new Set([' ', '\t', '\n', ';', '&', '|', '<', '>', '(', ')', '']);

/** One word, up to the next blank or operator. Undefined where none begins. */
export function parseWord(scanner: Scanner, nested: Nested): Word | undefined {
  const parts: Part[] = [];
  for (;;) {
    if (scanner.isBash && /[<>]/.test(scanner.peek()) && scanner.peek(1) === '(') {
      const direction = scanner.peek() as '<' | '>';
      scanner.skip(2);
      parts.push({ kind: 'process', direction, body: nested.parseNested(scanner) });
      continue;
    }
    if (metacharacters.has(scanner.peek())) return parts.length > 0 ? parts : undefined;
    if (scanner.startsWith('\\\n')) scanner.skip(2);
    else parsePart(scanner, nested, parts);
  }
}

/** A word that ends where `ends` says so: blanks and operators belong to it. Here-documents and braces have such. */
export function parseText(scanner: Scanner, nested: Nested, ends: () => boolean, quoted: boolean): Word {
  const parts: Part[] = [];
  while (!ends()) {
    if (scanner.ended) scanner.unterminated('}');
    if (scanner.startsWith('\\\n')) scanner.skip(2);
    else if (quoted) parseQuotedPart(scanner, nested, parts, '}');
    else parsePart(scanner, nested, parts);
  }
  return parts;
}

function parsePart(scanner: Scanner, nested: Nested, parts: Part[]): void {
  const char = scanner.peek();
  if (char === "'") {
    scanner.next();
    parts.push({ kind: 'text', text: takeUntil(scanner, "'"), quoted: true });
  } else if (char === '"') {
    scanner.next();
    parseDoubleQuotes(scanner, nested, parts);
  } else if (char === '\\') {
    scanner.next();
    // At the very end it stands for itself.
    parts.push({ kind: 'text', text: scanner.ended ? '\\' : scanner.next(), quoted: true });
  } else if (char === '$') parseDollar(scanner, nested, parts, false);
  else if (char === '`') parts.push(parseBackquotes(scanner, nested, false));
  else addText(parts, scanner.next(), false);
}

function addText(parts: Part[], text: string, quoted: boolean): void {
  const last = parts.at(-1);
  if (last?.kind === 'text' && last.quoted === quoted) parts[parts.length - 1] = { ...last, text: last.text + text };
  else parts.push({ kind: 'text', text, quoted });
}

function takeUntil(scanner: Scanner, mark: string): string {
  const end = scanner.source.indexOf(mark, scanner.at);
  if (end < 0) {
    scanner.at = scanner.source.length;
    scanner.unterminated(mark);
  }
  const text = scanner.source.slice(scanner.at, end);
  scanner.skip(text.length + 1);
  return text;
}

function parseDoubleQuotes(scanner: Scanner, nested: Nested, parts: Part[]): void {
  const { length } = parts;
  while (scanner.peek() !== '"') {
    if (scanner.ended) scanner.unterminated('"');
    if (scanner.startsWith('\\\n')) scanner.skip(2);
    else parseQuotedPart(scanner, nested, parts, '"');
  }
  scanner.next();
  // Even empty quotes make a word.
  if (parts.length === length) parts.push({ kind: 'text', text: '', quoted: true });
}

/** Inside double quotes, or in a here-document: only `$`, backquotes and a few backslashes are more than themselves. */
function parseQuotedPart(scanner: Scanner, nested: Nested, parts: Part[], mark: string): void {
  const char = scanner.peek();
  if (char === '$') parseDollar(scanner, nested, parts, true);
  else if (char === '`') parts.push(parseBackquotes(scanner, nested, true));
  else if (char === '\\' && escapable(mark).includes(scanner.peek(1)) && scanner.peek(1) !== '') {
    scanner.next();
    addText(parts, scanner.next(), true);
  } else if (char === '"' && mark === '}') {
    // Quotes within braces within quotes are quotes again.
    scanner.next();
    parseDoubleQuotes(scanner, nested, parts);
  } else addText(parts, scanner.next(), true);
}

const escapable = (mark: string): string => (mark === '"' ? '$`"\\' : mark === '}' ? '$`"\\}' : '$`\\');

/** The text of a here-document whose delimiter was not quoted. */
export function parseHereDocument(scanner: Scanner, nested: Nested): Word {
  const parts: Part[] = [];
  while (!scanner.ended) {
    if (scanner.startsWith('\\\n')) scanner.skip(2);
    else parseQuotedPart(scanner, nested, parts, '');
  }
  return parts;
}

function parseBackquotes(scanner: Scanner, nested: Nested, quoted: boolean): Part {
  const { line } = scanner;
  scanner.next();
  let source = '';
  while (scanner.peek() !== '`') {
    if (scanner.ended) scanner.unterminated('`');
    const isEscape = scanner.peek() === '\\' && (quoted ? '$`\\"' : '$`\\').includes(scanner.peek(1));
    if (isEscape && scanner.peek(1) !== '') scanner.next();
    source += scanner.next();
  }
  scanner.next();
  return { kind: 'command', body: nested.parseScript(source, line), quoted };
}

function parseDollar(scanner: Scanner, nested: Nested, parts: Part[], quoted: boolean): void {
  scanner.next();
  if (scanner.startsWith('((')) {
    const arithmetic = tryArithmetic(scanner, nested, quoted);
    if (arithmetic) {
      parts.push(arithmetic);
      return;
    }
  }
  const char = scanner.peek();
  if (char === '(') {
    scanner.next();
    parts.push({ kind: 'command', body: nested.parseNested(scanner), quoted });
  } else if (char === '{') parts.push(parseBraces(scanner, nested, quoted));
  else if (scanner.isBash && !quoted && char === "'") {
    scanner.next();
    parts.push({ kind: 'text', text: parseAnsi(scanner), quoted: true });
  } else if (scanner.isBash && !quoted && char === '"') {
    scanner.next();
    parseDoubleQuotes(scanner, nested, parts);
  } else {
    const name = scanner.match(/[A-Za-z_][A-Za-z0-9_]*|[0-9@*#?$!-]/y)?.[0];
    if (name === undefined) {
      addText(parts, '$', quoted);
      return;
    }
    scanner.skip(name.length);
    parts.push({ kind: 'parameter', name, length: false, indirect: false, operator: '', quoted });
  }
}

/** `$((`: arithmetic if it ends in `))`, else a subshell in a substitution. */
function tryArithmetic(scanner: Scanner, nested: Nested, quoted: boolean): Part | undefined {
  const { at, line } = scanner;
  scanner.skip(2);
  let depth = 0;
  const ends = (): boolean => {
    if (depth === 0) return scanner.peek() === ')';
    return false;
  };
  const parts: Part[] = [];
  while (!ends() && !scanner.ended) {
    if (scanner.peek() === '(') depth += 1;
    if (scanner.peek() === ')') depth -= 1;
    if (scanner.peek() === '"') scanner.next();
    else parseQuotedPart(scanner, nested, parts, '"');
  }
  if (scanner.startsWith('))')) {
    scanner.skip(2);
    return { kind: 'arithmetic', expression: parts, quoted };
  }
  scanner.at = at;
  scanner.line = line;
  return undefined;
}

/** `((…))` as a command: the text in it. Undefined when it is no such thing. */
export function parseArithmeticCommand(scanner: Scanner, nested: Nested): Word | undefined {
  const found = tryArithmetic(scanner, nested, false);
  return found?.kind === 'arithmetic' ? found.expression : undefined;
}

const operators = /:-|:=|:\?|:\+|%%|%|##|#|-|=|\?|\+/y;
const bashOperators = /:-|:=|:\?|:\+|%%|%|##|#|-|=|\?|\+|\/\/|\/#|\/%|\/|\^\^|\^|,,|,|@[QEPAaUuLK]|:/y;

function parseBraces(scanner: Scanner, nested: Nested, quoted: boolean): Parameter {
  const begin = scanner.at;
  scanner.next();
  const length = scanner.match(/#(?![}:%=+-]|#[^}]|\?.)/y) !== null;
  if (length) scanner.next();
  const indirect = scanner.isBash && scanner.match(/!(?=[A-Za-z_])/y) !== null;
  if (indirect) scanner.next();
  const name = scanner.match(/[A-Za-z_][A-Za-z0-9_]*|[0-9]+|[@*#?$!-]/y)?.[0] ?? '';
  scanner.skip(name.length);
  const index = parseIndex(scanner, nested);
  const found: Parameter = {
    kind: 'parameter',
    name,
    length,
    indirect,
    operator: '',
    quoted,
    ...(index ? { index } : {}),
  };
  if (name !== '' && scanner.peek() === '}') {
    scanner.next();
    return found;
  }
  const operator = length || name === '' ? undefined : scanner.match(scanner.isBash ? bashOperators : operators)?.[0];
  if (operator === undefined) return parseBad(scanner, begin, found);
  scanner.skip(operator.length);
  return { ...found, ...parseOperands(scanner, nested, operator, quoted) };
}

function parseIndex(scanner: Scanner, nested: Nested): Word | undefined {
  if (!scanner.isBash || scanner.peek() !== '[') return undefined;
  scanner.next();
  const index = parseText(scanner, nested, () => scanner.peek() === ']', false);
  scanner.next();
  return index;
}

/** What follows the operator. Patterns keep their quotes within quotes, defaults do not. */
function parseOperands(
  scanner: Scanner,
  nested: Nested,
  operator: string,
  quoted: boolean,
): Pick<Parameter, 'operator' | 'word' | 'second'> {
  const isPattern = /^[%#/^,]/.test(operator);
  const divider = operator.startsWith('/') ? '/' : operator === ':' ? ':' : undefined;
  const ends = (): boolean => scanner.peek() === '}' || scanner.peek() === divider;
  const word = parseText(scanner, nested, ends, quoted && !isPattern);
  if (scanner.peek() !== divider || divider === undefined) {
    scanner.next();
    return { operator, word };
  }
  scanner.next();
  const second = parseText(scanner, nested, () => scanner.peek() === '}', quoted && !isPattern);
  scanner.next();
  return { operator, word, second };
}

/** A form that the shell does not know is a mistake when it is reached, not before. */
function parseBad(scanner: Scanner, begin: number, found: Parameter): Parameter {
  while (scanner.peek() !== '}') {
    if (scanner.ended) scanner.unterminated('}');
    scanner.next();
  }
  scanner.next();
  return { ...found, bad: `$${scanner.source.slice(begin, scanner.at)}` };
}

const ansi: Readonly<Record<string, string>> = {
  a: '\x07',
  b: '\b',
  e: '\x1b',
  E: '\x1b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
  '\\': '\\',
  "'": "'",
  '"': '"',
  '?': '?',
};

/** `$'…'`: the escapes of C. */
function parseAnsi(scanner: Scanner): string {
  let text = '';
  for (;;) {
    if (scanner.ended) scanner.unterminated("'");
    const char = scanner.next();
    if (char === "'") return text;
    if (char !== '\\') {
      text += char;
      continue;
    }
    const number = scanner.match(/[0-7]{1,3}|x[0-9a-fA-F]{1,2}|u[0-9a-fA-F]{1,4}|U[0-9a-fA-F]{1,8}/y)?.[0];
    if (number !== undefined) {
      scanner.skip(number.length);
      text += ansiNumber(number);
    } else if (scanner.peek() in ansi) text += ansi[scanner.next()];
    else text += `\\${scanner.ended ? '' : scanner.next()}`;
  }
}

function ansiNumber(number: string): string {
  if (/^[0-7]/.test(number)) return String.fromCharCode(Number.parseInt(number, 8) & 0xff);
  const value = Number.parseInt(number.slice(1), 16);
  return number.startsWith('x')
    ? String.fromCharCode(value)
    : Buffer.from(String.fromCodePoint(value)).toString('latin1');
}
