import type { Command, List, Word } from './ast.ts';
import type { Parser } from './parser.ts';

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
      return parser.scanner.notSimulated(keyword);
    default:
      return parser.scanner.unexpected(keyword);
  }
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
  const { scanner } = parser;
  parser.take('for');
  scanner.skipBlanks();
  const name = scanner.match(/[A-Za-z_][A-Za-z0-9_]*(?=[ \t\n;]|$)/y)?.[0];
  if (name === undefined) throw scanner.error('Syntax error: Bad for loop variable');
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
    const word = parser.word();
    if (!word) return words;
    words.push(word);
  }
}

function parseDoGroup(parser: Parser): List {
  parser.take('do');
  const body = parser.compound(['done'], 'done', false);
  parser.take('done');
  return body;
}

function parseCase(parser: Parser): Command {
  parser.take('case');
  parser.scanner.skipBlanks();
  const subject = parser.word() ?? parser.unexpected();
  parser.skipNewlines();
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
  const { scanner } = parser;
  if (scanner.peek() === '(') scanner.next();
  const patterns: Word[] = [];
  for (;;) {
    scanner.skipBlanks();
    patterns.push(parser.word() ?? parser.unexpected(')'));
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
