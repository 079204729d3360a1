import type { Dialect } from './ast.ts';

/** The script makes no sense. The message is dash's own, without its name and the line. */
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
  line = 1;

  constructor(source: string, dialect: Dialect) {
    this.source = source;
    this.dialect = dialect;
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

  /** A quote or a bracket that is never closed. */
  unterminated(mark: string): never {
    if (mark === '}') throw this.error("Syntax error: Missing '}'");
    if (mark === ')') throw this.error('Syntax error: end of file unexpected (expecting ")")');
    throw this.error('Syntax error: Unterminated quoted string');
  }

  /** A token that cannot stand here. */
  unexpected(token: string, expecting?: string): never {
    const wanted = expecting === undefined ? '' : ` (expecting "${expecting}")`;
    const named = token === '' ? 'end of file' : token === '\n' ? 'newline' : `"${token}"`;
    throw this.error(`Syntax error: ${named} unexpected${wanted}`);
  }

  /** A construct that real shells know. It fails, so that no test passes by a shell that skips it. */
  notSimulated(construct: string): never {
    throw this.error(`${construct} is not simulated`);
  }

  error(message: string): ShellSyntaxError {
    return new ShellSyntaxError(message, this.line);
  }
}
