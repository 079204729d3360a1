import type { List, Part, Word } from './ast.ts';
import type { Scanner } from './scanner.ts';

/** Takes commands up to a closing parenthesis, and the parenthesis. */
export type ParseCommands = () => List;

const metacharacters = new Set([' ', '\t', '\n', ';', '&', '|', '<', '>', '(', ')', '']);

/** One word, up to the next blank or operator. Undefined where none begins. */
export function parseWord(scanner: Scanner, commands: ParseCommands): Word | undefined {
  const parts: Part[] = [];
  if (scanner.match(/~(?=[\s/;&|<>()]|$)/y)) scanner.notSimulated('a tilde');
  if (scanner.dialect === 'bash' && scanner.match(/[^\s;&|<>()'"`$\\]*\{[^\s{}'"]*(?:,|\.\.)[^\s{}'"]*\}/y))
    scanner.notSimulated('an expansion of braces');
  for (;;) {
    if (metacharacters.has(scanner.peek())) return parts.length > 0 ? parts : undefined;
    if (scanner.startsWith('\\\n')) scanner.skip(2);
    else parsePart(scanner, commands, parts);
  }
}

function parsePart(scanner: Scanner, commands: ParseCommands, parts: Part[]): void {
  const char = scanner.peek();
  if (char === "'") {
    scanner.next();
    parts.push({ kind: 'text', text: takeQuoted(scanner), quoted: true });
  } else if (char === '"') {
    scanner.next();
    parseDoubleQuotes(scanner, commands, parts);
  } else if (char === '\\') {
    scanner.next();
    // At the very end it stands for itself.
    parts.push({ kind: 'text', text: scanner.ended ? '\\' : scanner.next(), quoted: true });
  } else if (char === '$') parseDollar(scanner, commands, parts, false);
  else if (char === '`') scanner.notSimulated('a backquote');
  else addText(parts, scanner.next(), false);
}

function addText(parts: Part[], text: string, quoted: boolean): void {
  const last = parts.at(-1);
  if (last?.kind === 'text' && last.quoted === quoted) parts[parts.length - 1] = { ...last, text: last.text + text };
  else parts.push({ kind: 'text', text, quoted });
}

function takeQuoted(scanner: Scanner): string {
  const end = scanner.source.indexOf("'", scanner.at);
  if (end < 0) scanner.unterminated("'");
  const text = scanner.source.slice(scanner.at, end);
  scanner.skip(text.length + 1);
  return text;
}

function parseDoubleQuotes(scanner: Scanner, commands: ParseCommands, parts: Part[]): void {
  const { length } = parts;
  while (scanner.peek() !== '"') {
    if (scanner.ended) scanner.unterminated('"');
    if (scanner.startsWith('\\\n')) scanner.skip(2);
    else parseQuotedPart(scanner, commands, parts);
  }
  scanner.next();
  // Even empty quotes make a word.
  if (parts.length === length) parts.push({ kind: 'text', text: '', quoted: true });
}

/** Inside double quotes: only `$`, backquotes and a few backslashes are more than themselves. */
function parseQuotedPart(scanner: Scanner, commands: ParseCommands, parts: Part[]): void {
  const char = scanner.peek();
  if (char === '$') {
    parseDollar(scanner, commands, parts, true);
    return;
  }
  if (char === '`') scanner.notSimulated('a backquote');
  if (char === '\\' && /[$`"\\]/.test(scanner.peek(1))) scanner.next();
  addText(parts, scanner.next(), true);
}

function parseDollar(scanner: Scanner, commands: ParseCommands, parts: Part[], quoted: boolean): void {
  scanner.next();
  if (scanner.startsWith('((')) {
    parts.push({ kind: 'arithmetic', expression: parseArithmetic(scanner, commands), quoted });
    return;
  }
  const char = scanner.peek();
  if (char === '(') {
    scanner.next();
    parts.push({ kind: 'command', body: commands(), quoted });
    return;
  }
  if (scanner.dialect === 'bash' && !quoted && (char === "'" || char === '"')) scanner.notSimulated(`$${char}`);
  const braced = scanner.match(/\{([A-Za-z_][A-Za-z0-9_]*|[0-9]+|[@*#?$!])\}/y);
  if (char === '{' && !braced) {
    if (!scanner.source.includes('}', scanner.at)) scanner.unterminated('}');
    scanner.notSimulated('an operator in braces');
  }
  const found = braced ?? scanner.match(/([A-Za-z_][A-Za-z0-9_]*|[0-9@*#?$!])/y);
  if (!found) {
    addText(parts, '$', quoted);
    return;
  }
  scanner.skip(found[0].length);
  parts.push({ kind: 'parameter', name: found[1] ?? '', quoted });
}

/** What stands between `$((` and `))`. */
function parseArithmetic(scanner: Scanner, commands: ParseCommands): Word {
  scanner.skip(2);
  const parts: Part[] = [];
  for (let depth = 0; depth > 0 || scanner.peek() !== ')'; ) {
    if (scanner.ended) scanner.unterminated(')');
    if (scanner.peek() === '(') depth += 1;
    if (scanner.peek() === ')') depth -= 1;
    if (scanner.peek() === '"') scanner.next();
    else parseQuotedPart(scanner, commands, parts);
  }
  if (!scanner.startsWith('))')) scanner.notSimulated('$(( that is no arithmetic');
  scanner.skip(2);
  return parts;
}
