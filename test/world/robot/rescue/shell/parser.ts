import type { AndOr, Assignment, Command, Dialect, List, Pipeline, Redirection, Word } from './ast.ts';
import { parseKeywordCommand } from './keyword-commands.ts';
import { Scanner } from './scanner.ts';
import { parseWord } from './words.ts';

const keywords =
  /(?:if|then|else|elif|fi|for|in|while|until|do|done|case|esac|function|\{|\}|!|\[\[|\]\])(?=[ \t\n;&|()<>]|$)/y;
const operators = /&&|\|\||;;|;|\||&|\(|\)|<&|<|>>|>&|>/y;
const redirection = /([0-9]*)(<&|<|>>|>&|>)/y;
/** Of bash, or of both and in no script. dash takes some of them for something else. */
const foreignOperators = /&>|\|&|[0-9]*(?:<<|<>|>\||[<>]\()/y;

/**
 * Takes a script apart the way a shell does: one complete command after the other, so that what comes before a mistake is
 * run. Throws a ShellSyntaxError.
 */
export class Parser {
  readonly scanner: Scanner;

  constructor(source: string, dialect: Dialect) {
    this.scanner = new Scanner(source, dialect);
  }

  /** The commands of the next line, or undefined at the end. */
  nextLine(): List | undefined {
    const { scanner } = this;
    this.skipNewlines();
    if (scanner.ended) return undefined;
    const list = this.#list(() => scanner.peek() === '\n');
    scanner.skipBlanks();
    if (!scanner.ended && scanner.peek() !== '\n') this.unexpected();
    return list;
  }

  word(): Word | undefined {
    return parseWord(this.scanner, () => {
      const list = this.compound([')'], ')');
      this.scanner.next();
      return list;
    });
  }

  /** Commands up to one of these words, across lines. The word is not taken. */
  compound(ends: readonly string[], expecting: string, mayBeEmpty = true): List {
    const { scanner } = this;
    const list: AndOr[] = [];
    for (;;) {
      this.skipNewlines();
      if (this.#isAt(ends)) break;
      if (scanner.ended) scanner.unexpected('', expecting);
      list.push(...this.#list(() => scanner.peek() === '\n' || this.#isAt(ends)));
      scanner.skipBlanks();
      if (!scanner.ended && scanner.peek() !== '\n' && !this.#isAt(ends)) this.unexpected(expecting);
    }
    if (list.length === 0 && !mayBeEmpty) this.unexpected();
    return list;
  }

  #isAt(ends: readonly string[]): boolean {
    const word = this.keyword() ?? this.#operator();
    return word !== undefined && ends.includes(word);
  }

  /** Commands with `;` and `&` between them. */
  #list(isOver: () => boolean): AndOr[] {
    const list: AndOr[] = [];
    for (;;) {
      const item = this.#andOr();
      this.scanner.skipBlanks();
      const operator = this.#operator();
      if (operator === ';' || operator === '&') this.scanner.skip(1);
      list.push({ ...item, background: operator === '&' });
      this.scanner.skipBlanks();
      if ((operator !== ';' && operator !== '&') || this.scanner.ended || isOver()) return list;
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
      if (this.#operator() !== '|') return { commands, negated };
      this.scanner.skip(1);
      this.skipNewlines();
      commands.push(this.command());
    }
  }

  command(): Command {
    const { scanner } = this;
    scanner.skipBlanks();
    if (scanner.peek() === '(') {
      scanner.next();
      const body = this.compound([')'], ')', false);
      scanner.next();
      return { kind: 'subshell', body, redirections: this.redirections() };
    }
    const keyword = this.keyword();
    return keyword === undefined || keyword === 'in' ? this.#simple() : parseKeywordCommand(this, keyword);
  }

  #simple(): Command {
    const { scanner } = this;
    const { line } = scanner;
    const assignments: Assignment[] = [];
    const words: Word[] = [];
    const redirections: Redirection[] = [];
    for (;;) {
      redirections.push(...this.redirections());
      const assignment = words.length === 0 ? this.#assignment() : undefined;
      if (assignment) {
        assignments.push(assignment);
        continue;
      }
      const word = this.word();
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
    if (word.length !== 1 || name?.kind !== 'text' || name.quoted || !/^[A-Za-z_]\w*$/.test(name.text))
      this.unexpected();
    this.scanner.skip(this.scanner.match(/[ \t]*\([ \t]*\)/y)?.[0].length ?? 0);
    this.skipNewlines();
    return { kind: 'function', name: name.text, body: this.command() };
  }

  #assignment(): Assignment | undefined {
    const found = this.scanner.match(/([A-Za-z_][A-Za-z0-9_]*)=/y);
    if (!found) return undefined;
    this.scanner.skip(found[0].length);
    return { name: found[1] ?? '', value: this.word() ?? [] };
  }

  redirections(): Redirection[] {
    const { scanner } = this;
    const found: Redirection[] = [];
    for (;;) {
      scanner.skipBlanks();
      const foreign = scanner.match(foreignOperators)?.[0];
      if (foreign !== undefined) scanner.notSimulated(foreign);
      const [text, given = '', operator = ''] = scanner.match(redirection) ?? [];
      if (text === undefined) return found;
      scanner.skip(text.length);
      scanner.skipBlanks();
      const number = given === '' ? (operator.startsWith('<') ? 0 : 1) : Number(given);
      found.push({
        number,
        operator: operator as Redirection['operator'],
        target: this.word() ?? this.unexpected(),
      });
    }
  }

  skipNewlines(): void {
    for (;;) {
      this.scanner.skipBlanks();
      if (this.scanner.peek() !== '\n') return;
      this.scanner.next();
    }
  }

  keyword(): string | undefined {
    return this.scanner.match(keywords)?.[0];
  }

  #operator(): string | undefined {
    return this.scanner.match(operators)?.[0];
  }

  take(keyword: string): void {
    this.scanner.skipBlanks();
    if (this.keyword() !== keyword) this.unexpected(keyword);
    this.scanner.skip(keyword.length);
  }

  unexpected(expecting?: string): never {
    const { scanner } = this;
    return scanner.unexpected(this.#operator() ?? scanner.match(/\n|[^\s;&|<>()]+/y)?.[0] ?? '', expecting);
  }
}
