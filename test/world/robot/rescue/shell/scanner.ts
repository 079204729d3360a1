import type { Dialect } from './ast.ts';

/** The script makes no sense. The message is the shell's own, without its name and the line. */
export class ShellSyntaxError extends Error {
  readonly line: number;

  constructor(message: string, line: number) {
    super(message);
    this.line = line;
  }
}

/** A place in a script, and the complaints that can be made there. */
export class Scanner {
  readonly source: string;
  readonly dialect: Dialect;
  at = 0;
  line: number;

  constructor(source: string, dialect: Dialect, line = 1) {
    this.source = source;
    this.dialect = dialect;
    this.line = line;
  }

  get isBash(): boolean {
    return this.dialect === 'bash';
  }

  get ended(): boolean {
    return this.at >= this.source.length;
  }

  peek(ahead = 0): string {
    return this.source[this.at + ahead] ?? '';
  }

  startsWith(text: string): boolean {
    return this.source.startsWith(text, this.at);
  }

  /** Matches at this place; the expression has to be sticky. */
  match(expression: RegExp): RegExpExecArray | null {
    expression.lastIndex = this.at;
    return expression.exec(this.source);
  }

  next(): string {
    const char = this.peek();
    this.at += 1;
    if (char === '\n') this.line += 1;
    return char;
  }

  skip(count: number): void {
    for (let index = 0; index < count; index += 1) this.next();
  }

  /** Blanks, comments and continued lines. */
  skipBlanks(): void {
    for (;;) {
      if (this.startsWith('\\\n')) this.skip(2);
      else if (this.peek() === ' ' || this.peek() === '\t') this.next();
      else if (this.peek() === '#') while (!this.ended && this.peek() !== '\n') this.next();
      else return;
    }
  }

  /** A quote or a bracket that nobody closes. */
  unterminated(mark: string): never {
    if (this.isBash) throw this.error(`unexpected EOF while looking for matching \`${mark}'`);
    if (mark === '}') throw this.error("Syntax error: Missing '}'");
    if (mark === ')') throw this.error('Syntax error: end of file unexpected (expecting ")")');
    if (mark === '`') throw this.error('Syntax error: EOF in backquote substitution');
    throw this.error('Syntax error: Unterminated quoted string');
  }

  /** Something stands where it cannot stand. */
  unexpected(token: string, expecting?: string): never {
    const wanted = expecting === undefined ? '' : ` (expecting "${expecting}")`;
    if (token === '') {
      // bash has read the newline that is not there.
      if (this.isBash) this.line += 1;
      throw this.error(
        this.isBash ? 'syntax error: unexpected end of file' : `Syntax error: end of file unexpected${wanted}`,
      );
    }
    const shown = token === '\n' ? 'newline' : token;
    if (this.isBash) throw this.error(`syntax error near unexpected token \`${shown}'`);
    const named = /^(?:newline|word|redirection)$/.test(shown) ? shown : `"${shown}"`;
    throw this.error(`Syntax error: ${named} unexpected${wanted}`);
  }

  error(message: string): ShellSyntaxError {
    return new ShellSyntaxError(message, this.line);
  }
}
