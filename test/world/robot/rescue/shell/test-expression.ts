import type { TestExpression, Word } from './ast.ts';
import type { Scanner } from './scanner.ts';
import { type Nested, parseText, parseWord } from './words.ts';

/** What stands between `[[` and `]]`; the closing brackets are taken. */
export function parseTest(scanner: Scanner, nested: Nested): TestExpression {
  const expression = parseOr(scanner, nested);
  blanks(scanner);
  if (!scanner.startsWith(']]')) complain(scanner);
  scanner.skip(2);
  return expression;
}

function parseOr(scanner: Scanner, nested: Nested): TestExpression {
  let left = parseAnd(scanner, nested);
  for (;;) {
    blanks(scanner);
    if (!scanner.startsWith('||')) return left;
    scanner.skip(2);
    left = { kind: 'or', left, right: parseAnd(scanner, nested) };
  }
}

function parseAnd(scanner: Scanner, nested: Nested): TestExpression {
  let left = parsePrimary(scanner, nested);
  for (;;) {
    blanks(scanner);
    if (!scanner.startsWith('&&')) return left;
    scanner.skip(2);
    left = { kind: 'and', left, right: parsePrimary(scanner, nested) };
  }
}

function parsePrimary(scanner: Scanner, nested: Nested): TestExpression {
  blanks(scanner);
  if (scanner.match(/!(?=\s)/y)) {
    scanner.next();
    return { kind: 'not', operand: parsePrimary(scanner, nested) };
  }
  if (scanner.peek() === '(') {
    scanner.next();
    const inner = parseOr(scanner, nested);
    blanks(scanner);
    if (scanner.peek() !== ')') complain(scanner);
    scanner.next();
    return inner;
  }
  const unary = scanner.match(/-[a-zA-Z](?=[ \t\n])/y)?.[0];
  if (unary) {
    scanner.skip(2);
    return { kind: 'unary', operator: unary, operand: operand(scanner, nested) };
  }
  const left = operand(scanner, nested);
  blanks(scanner);
  const operator = scanner.match(/==|=~|!=|=|<|>|-(?:eq|ne|lt|le|gt|ge|nt|ot|ef)(?=\s)/y)?.[0];
  if (operator === undefined) return { kind: 'unary', operator: '-n', operand: left };
  scanner.skip(operator.length);
  return { kind: 'binary', operator, left, right: operand(scanner, nested, operator === '=~') };
}

function operand(scanner: Scanner, nested: Nested, isExpression = false): Word {
  blanks(scanner);
  // A regular expression has parentheses and bars of its own.
  const word = isExpression
    ? parseText(scanner, nested, () => scanner.ended || /\s/.test(scanner.peek()), false)
    : parseWord(scanner, nested);
  return word ?? complain(scanner);
}

function blanks(scanner: Scanner): void {
  scanner.skipBlanks();
  while (scanner.peek() === '\n') {
    scanner.next();
    scanner.skipBlanks();
  }
}

const complain = (scanner: Scanner): never => scanner.unexpected(scanner.match(/\S+/y)?.[0] ?? '');
