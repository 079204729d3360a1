import type { Command, List, Word } from './ast.ts';
import type { Parser } from './parser.ts';
import { parseTest } from './test-expression.ts';
import { parseWord } from './words.ts';

/** A command that begins with a word of the grammar. */
export function parseKeywordCommand(parser: Parser, keyword: string): Command {
  switch (keyword) {
    case '{': {
      parser.scanner.skip(1);
      const body = parser.compound(['}'], '}', false);
      parser.scanner.skip(1);
      return { kind: 'group', body, redirections: parser.redirections() };
    }
    case 'if':
      return parseIf(parser);
    case 'while':
    case 'until': {
      parser.take(keyword);
      const condition = parser.compound(['do'], 'do', false);
      const body = parseDoGroup(parser);
      return { kind: 'loop', until: keyword === 'until', condition, body, redirections: parser.redirections() };
    }
    case 'for':
      return parseFor(parser);
    case 'case':
      return parseCase(parser);
    case '[[':
    case 'function':
    case ']]':
      return parseBashOnly(parser, keyword);
    default:
      return parser.scanner.unexpected(keyword);
  }
}

function parseBashOnly(parser: Parser, keyword: string): Command {
  if (!parser.scanner.isBash || keyword === ']]') return parser.simple();
  parser.take(keyword);
  if (keyword === '[[') {
    const expression = parseTest(parser.scanner, parser);
    return { kind: 'test', expression, redirections: parser.redirections() };
  }
  parser.scanner.skipBlanks();
  const name = parser.scanner.match(/[A-Za-z_][\w-]*/y)?.[0] ?? parser.unexpected();
  parser.scanner.skip(name.length);
  parser.scanner.skipBlanks();
  const parentheses = parser.scanner.match(/\([ \t]*\)/y)?.[0];
  if (parentheses) parser.scanner.skip(parentheses.length);
  parser.skipNewlines();
  return { kind: 'function', name, body: parser.command() };
}

function parseIf(parser: Parser): Command {
  const branches: { condition: List; body: List }[] = [];
  let otherwise: List | undefined;
  for (let word = 'if'; word === 'if' || word === 'elif'; word = parser.keyword() ?? '') {
    parser.take(word);
    const condition = parser.compound(['then'], 'then', false);
    parser.take('then');
    branches.push({ condition, body: parser.compound(['elif', 'else', 'fi'], 'fi', false) });
  }
  if (parser.keyword() === 'else') {
    parser.take('else');
    otherwise = parser.compound(['fi'], 'fi', false);
  }
  parser.take('fi');
  return { kind: 'if', branches, ...(otherwise ? { otherwise } : {}), redirections: parser.redirections() };
}

function parseFor(parser: Parser): Command {
  const scanner = parser.scanner;
  parser.take('for');
  scanner.skipBlanks();
  const name = scanner.match(/[A-Za-z_][A-Za-z0-9_]*(?=[ \t\n;]|$)/y)?.[0];
  if (name === undefined) {
    if (scanner.isBash) parser.unexpected();
    throw scanner.error('Syntax error: Bad for loop variable');
  }
  scanner.skip(name.length);
  parser.skipNewlines();
  let words: Word[] | undefined;
  if (parser.keyword() === 'in') {
    parser.take('in');
    words = parseWords(parser);
  }
  scanner.skipBlanks();
  if (scanner.peek() === ';') scanner.next();
  parser.skipNewlines();
  return { kind: 'for', name, words, body: parseDoGroup(parser), redirections: parser.redirections() };
}

function parseWords(parser: Parser): Word[] {
  const words: Word[] = [];
  for (;;) {
    parser.scanner.skipBlanks();
    const word = parseWord(parser.scanner, parser);
    if (!word) return words;
    words.push(word);
  }
}

function parseDoGroup(parser: Parser): List {
  if (parser.keyword() !== 'do') parser.unexpected('do');
  parser.take('do');
  const body = parser.compound(['done'], 'done', false);
  parser.take('done');
  return body;
}

function parseCase(parser: Parser): Command {
  const scanner = parser.scanner;
  parser.take('case');
  scanner.skipBlanks();
  const subject = parseWord(scanner, parser) ?? parser.unexpected();
  parser.skipNewlines();
  if (parser.keyword() !== 'in') parser.unexpected('in');
  parser.take('in');
  const branches: { patterns: Word[]; body: List }[] = [];
  for (;;) {
    parser.skipNewlines();
    if (parser.keyword() === 'esac') break;
    branches.push(parseBranch(parser));
  }
  parser.take('esac');
  return { kind: 'case', subject, branches, redirections: parser.redirections() };
}

function parseBranch(parser: Parser): { patterns: Word[]; body: List } {
  const scanner = parser.scanner;
  if (scanner.peek() === '(') scanner.next();
  const patterns: Word[] = [];
  for (;;) {
    scanner.skipBlanks();
    patterns.push(parseWord(scanner, parser) ?? parser.unexpected(')'));
    scanner.skipBlanks();
    if (scanner.peek() === ')') break;
    if (scanner.peek() !== '|') parser.unexpected(')');
    scanner.next();
  }
  scanner.next();
  const body = parser.compound([';;', 'esac'], ';;');
  if (scanner.startsWith(';;')) scanner.skip(2);
  return { patterns, body };
}
