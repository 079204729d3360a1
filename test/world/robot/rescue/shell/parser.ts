import type { AndOr, Assignment, Command, Dialect, List, Part, Pipeline, Redirection, Word } from './ast.ts';
import { parseKeywordCommand } from './keyword-commands.ts';
import { Scanner } from './scanner.ts';
import { type Nested, parseArithmeticCommand, parseHereDocument, parseText, parseWord } from './words.ts';

const keywords =
  /(?:if|then|else|elif|fi|for|in|while|until|do|done|case|esac|function|\{|\}|!|\[\[|\]\])(?=[ \t\n;&|()<>]|$)/y;
const operatorsBash = /&&|\|\||;;|\|&|&>>|&>|;|\||&|\(|\)|<<<|<<-|<<|<&|<>|<|>>|>&|>\||>/y;
const operatorsDash = /&&|\|\||;;|;|\||&|\(|\)|<<-|<<|<&|<>|<|>>|>&|>\||>/y;

/** A here-document whose text comes after the line. */
interface Pending {
  readonly delimiter: string;
  readonly isLiteral: boolean;
  readonly stripsTabs: boolean;
  readonly parts: Part[];
}

/**
 * Takes a script apart the way a shell does: one complete command after the other, so that what comes before a mistake is
 * run. Throws a ShellSyntaxError.
 */
export class Parser implements Nested {
  readonly scanner: Scanner;
  #pending: Pending[] = [];

  constructor(source: string, dialect: Dialect, line = 1) {
    this.scanner = new Scanner(source, dialect, line);
  }

  get line(): number {
    return this.scanner.line;
  }

  /** The commands of the next line, or undefined at the end. */
  nextLine(): List | undefined {
    const scanner = this.scanner;
    for (;;) {
      scanner.skipBlanks();
      if (scanner.ended) return undefined;
      if (scanner.peek() !== '\n') break;
      scanner.next();
    }
    const list = this.#list(() => scanner.peek() === '\n');
    scanner.skipBlanks();
    if (!scanner.ended && scanner.peek() !== '\n') this.unexpected();
    this.#newline();
    return list;
  }

  parseNested(scanner: Scanner): List {
    if (scanner !== this.scanner) return this.#nestedAt(scanner);
    const list = this.compound([')'], ')');
    scanner.next();
    return list;
  }

  parseScript(source: string, line: number): List {
    const parser = new Parser(source, this.scanner.dialect, line);
    const lists: AndOr[] = [];
    for (;;) {
      const list = parser.nextLine();
      if (!list) return lists;
      lists.push(...list);
    }
  }

  /** Commands up to one of these words, across lines. The word is not taken. */
  compound(ends: readonly string[], expecting: string, mayBeEmpty = true): List {
    const list: AndOr[] = [];
    for (;;) {
      this.skipNewlines();
      const word = this.keyword() ?? (this.scanner.peek() === ')' ? ')' : this.#operator());
      if (word !== undefined && ends.includes(word)) break;
      if (this.scanner.ended) {
        if (expecting === ')') this.scanner.unterminated(')');
        this.scanner.unexpected('', expecting);
      }
      list.push(...this.#list(() => this.scanner.peek() === '\n' || this.#ends(ends)));
      this.scanner.skipBlanks();
      if (!this.scanner.ended && this.scanner.peek() !== '\n' && !this.#ends(ends)) this.unexpected(expecting);
    }
    if (list.length === 0 && !mayBeEmpty) this.unexpected();
    return list;
  }

  #ends(ends: readonly string[]): boolean {
    const word = this.keyword() ?? this.#operator();
    return word !== undefined && ends.includes(word);
  }

  /** Commands with `;` and `&` between them. */
  #list(ends: () => boolean): AndOr[] {
    const list: AndOr[] = [];
    for (;;) {
      const item = this.#andOr();
      this.scanner.skipBlanks();
      const operator = this.#operator();
      if (operator === ';' || operator === '&') this.scanner.skip(1);
      list.push({ ...item, background: operator === '&' });
      this.scanner.skipBlanks();
      if ((operator !== ';' && operator !== '&') || this.scanner.ended || ends()) return list;
    }
  }

  #andOr(): Omit<AndOr, 'background'> {
    const first = this.#pipeline();
    const rest: { operator: '&&' | '||'; pipeline: Pipeline }[] = [];
    for (;;) {
      this.scanner.skipBlanks();
      const operator = this.#operator();
      if (operator !== '&&' && operator !== '||') return { first, rest };
      this.scanner.skip(2);
      this.skipNewlines();
      rest.push({ operator, pipeline: this.#pipeline() });
    }
  }

  #pipeline(): Pipeline {
    this.scanner.skipBlanks();
    let negated = false;
    while (this.keyword() === '!') {
      negated = !negated;
      this.scanner.skip(1);
      this.scanner.skipBlanks();
    }
    const commands = [this.command()];
    for (;;) {
      this.scanner.skipBlanks();
      const operator = this.#operator();
      if (operator !== '|' && operator !== '|&') return { commands, negated };
      this.scanner.skip(operator.length);
      if (operator === '|&') commands.push(withErrors(commands.pop()));
      this.skipNewlines();
      commands.push(this.command());
    }
  }

  command(): Command {
    const scanner = this.scanner;
    scanner.skipBlanks();
    if (scanner.isBash && scanner.startsWith('((')) {
      const { at, line } = scanner;
      const expression = parseArithmeticCommand(scanner, this);
      if (expression) return { kind: 'arithmetic', expression, redirections: this.redirections() };
      scanner.at = at;
      scanner.line = line;
    }
    if (scanner.peek() === '(') {
      scanner.next();
      const body = this.compound([')'], ')', false);
      scanner.next();
      return { kind: 'subshell', body, redirections: this.redirections() };
    }
    const keyword = this.keyword();
    if (keyword === undefined || keyword === 'in') return this.simple();
    return parseKeywordCommand(this, keyword);
  }

  simple(): Command {
    const scanner = this.scanner;
    const { line } = scanner;
    const assignments: Assignment[] = [];
    const words: Word[] = [];
    const redirections: Redirection[] = [];
    for (;;) {
      scanner.skipBlanks();
      const redirection = this.#redirection();
      if (redirection) {
        redirections.push(redirection);
        continue;
      }
      const assignment = words.length === 0 ? this.#assignment() : undefined;
      if (assignment) {
        assignments.push(assignment);
        continue;
      }
      const word = parseWord(scanner, this);
      if (!word) break;
      words.push(word);
      if (words.length === 1 && scanner.match(/[ \t]*\([ \t]*\)/y)) return this.#function(word);
    }
    const isNothing = assignments.length === 0 && words.length === 0 && redirections.length === 0;
    if (isNothing || scanner.peek() === '(') this.unexpected();
    return { kind: 'simple', assignments, words, redirections, line };
  }

  #function(word: Word): Command {
    const [name] = word;
    if (word.length !== 1 || name?.kind !== 'text' || name.quoted || !/^[A-Za-z_][\w-]*$/.test(name.text)) {
      this.scanner.skipBlanks();
      this.unexpected();
    }
    this.scanner.skip(this.scanner.match(/[ \t]*\([ \t]*\)/y)?.[0].length ?? 0);
    this.skipNewlines();
    return { kind: 'function', name: name.text, body: this.command() };
  }

  #assignment(): Assignment | undefined {
    const scanner = this.scanner;
    const found = scanner.match(
      scanner.isBash ? /([A-Za-z_][A-Za-z0-9_]*)(\[[^\]\n]*\])?(\+?)=/y : /([A-Za-z_][A-Za-z0-9_]*)()()=/y,
    );
    if (!found) return undefined;
    const [text, name = '', subscript = '', plus] = found;
    scanner.skip(text.length);
    const index = subscript ? parsePlainWord(subscript.slice(1, -1), scanner, this) : undefined;
    const head = { name, append: plus === '+', ...(index ? { index } : {}) };
    if (scanner.isBash && scanner.peek() === '(') {
      scanner.next();
      return { ...head, value: { list: this.#arrayWords() } };
    }
    return { ...head, value: parseWord(scanner, this) ?? [] };
  }

  #arrayWords(): Word[] {
    const words: Word[] = [];
    for (;;) {
      this.skipNewlines();
      if (this.scanner.peek() === ')') break;
      words.push(parseWord(this.scanner, this) ?? this.unexpected(')'));
    }
    this.scanner.next();
    return words;
  }

  redirections(): Redirection[] {
    const found: Redirection[] = [];
    for (;;) {
      this.scanner.skipBlanks();
      const redirection = this.#redirection();
      if (!redirection) return found;
      found.push(redirection);
    }
  }

  #redirection(): Redirection | undefined {
    const scanner = this.scanner;
    // A process substitution is a word.
    if (scanner.isBash && scanner.match(/[<>]\(/y)) return undefined;
    const pattern = scanner.isBash
      ? /([0-9]*)(&>>|&>|<<<|<<-|<<|<&|<>|<|>>|>&|>\||>)/y
      : /([0-9]*)(<<-|<<|<&|<>|<|>>|>&|>\||>)/y;
    const found = scanner.match(pattern);
    if (!found) return undefined;
    const [text, given = '', symbol = ''] = found;
    scanner.skip(text.length);
    scanner.skipBlanks();
    if (!scanner.isBash && /[<>]/.test(scanner.peek())) scanner.unexpected('redirection');
    const target = parseWord(scanner, this) ?? this.unexpected();
    const number = given === '' ? (symbol.startsWith('<') ? 0 : 1) : Number(given);
    if (symbol !== '<<' && symbol !== '<<-') {
      return { number, operator: symbol as Redirection['operator'], target };
    }
    const parts: Part[] = [];
    const isLiteral = target.some((part) => part.kind === 'text' && part.quoted);
    const delimiter = target.map((part) => (part.kind === 'text' ? part.text : '')).join('');
    this.#pending.push({ delimiter, isLiteral, stripsTabs: symbol === '<<-', parts });
    return { number, operator: '<<', target: parts };
  }

  /** Takes the end of a line, and the here-documents that begin there. */
  #newline(): void {
    const scanner = this.scanner;
    if (scanner.peek() === '\n') scanner.next();
    for (const { delimiter, isLiteral, stripsTabs, parts } of this.#pending.splice(0)) {
      let text = '';
      while (!scanner.ended) {
        const taken = scanner.match(/[^\n]*\n?/y)?.[0] ?? '';
        scanner.skip(taken.length);
        const line = stripsTabs ? taken.replace(/^\t+/, '') : taken;
        if (line.replace(/\n$/, '') === delimiter) break;
        text += scanner.isBash && !line.endsWith('\n') ? `${line}\n` : line;
      }
      const inner = new Scanner(text, scanner.dialect, scanner.line);
      parts.push(...(isLiteral ? [{ kind: 'text', text, quoted: true } as const] : parseHereDocument(inner, this)));
    }
  }

  /** Reads a substitution that stands in another text, and moves that text's scanner behind it. */
  #nestedAt(outer: Scanner): List {
    const parser = new Parser(outer.source.slice(outer.at), outer.dialect, outer.line);
    const list = parser.parseNested(parser.scanner);
    outer.skip(parser.scanner.at);
    return list;
  }

  skipNewlines(): void {
    for (;;) {
      this.scanner.skipBlanks();
      if (this.scanner.peek() !== '\n') return;
      this.#newline();
    }
  }

  keyword(): string | undefined {
    return this.scanner.match(keywords)?.[0];
  }

  #operator(): string | undefined {
    return this.scanner.match(this.scanner.isBash ? operatorsBash : operatorsDash)?.[0];
  }

  take(keyword: string): void {
    this.scanner.skipBlanks();
    if (this.keyword() !== keyword) this.unexpected(keyword);
    this.scanner.skip(keyword.length);
  }

  unexpected(expecting?: string): never {
    const scanner = this.scanner;
    const token =
      this.#operator() ??
      (scanner.peek() === '\n' ? '\n' : (this.keyword() ?? scanner.match(/[^\s;&|<>()]+/y)?.[0] ?? ''));
    const isWord = !scanner.isBash && this.#operator() === undefined && this.keyword() === undefined && token !== '\n';
    return scanner.unexpected(isWord && token !== '' ? 'word' : token, expecting);
  }
}

/** `a |& b` is `a 2>&1 | b`. */
function withErrors(command: Command | undefined): Command {
  const target: Word = [{ kind: 'text', text: '1', quoted: false }];
  const redirection: Redirection = { number: 2, operator: '>&', target };
  if (!command || command.kind === 'function') throw new Error('there is no such pipeline');
  return { ...command, redirections: [...command.redirections, redirection] };
}

function parsePlainWord(text: string, scanner: Scanner, nested: Nested): Word {
  const inner = new Scanner(text, scanner.dialect, scanner.line);
  return parseText(inner, nested, () => inner.ended, false);
}
