/** What a shell's arithmetic needs of its variables. */
export interface Variables {
  get(name: string): string;
  set(name: string, value: string): void;
  /** `++` and `--` are known; elsewhere they are two signs. */
  readonly steps: boolean;
}

/** The expression makes no sense; the message is its beginning in the words of the shells. */
export class ArithmeticError extends Error {}

const precedence: readonly (readonly string[])[] = [
  ['||'],
  ['&&'],
  ['|'],
  ['^'],
  ['&'],
  ['==', '!='],
  ['<=', '>=', '<', '>'],
  ['<<', '>>'],
  ['+', '-'],
  ['*', '/', '%'],
];
const tokens =
  /\s*(0[xX][0-9a-fA-F]+|[0-9]+|[A-Za-z_][A-Za-z0-9_]*|<<=|>>=|\+\+|--|\|\||&&|==|!=|<=|>=|<<|>>|[-+*/%&|^]=|[-+*/%&|^<>=!~?:(),])/y;

/** The value of an expression in 64 bits, as `$((…))` has it. Throws an {@link ArithmeticError}. */
export function evaluate(text: string, variables: Variables): bigint {
  return new Evaluation(text, variables).run();
}

class Evaluation {
  readonly #tokens: string[];
  readonly #variables: Variables;
  #at = 0;

  constructor(text: string, variables: Variables) {
    this.#variables = variables;
    this.#tokens = split(text, variables.steps);
  }

  run(): bigint {
    if (this.#tokens.length === 0) return 0n;
    let value = this.#assignment();
    while (this.#take(',')) value = this.#assignment();
    if (this.#at < this.#tokens.length) throw new ArithmeticError(`syntax error: "${this.#peek()}"`);
    return value;
  }

  #peek(): string {
    return this.#tokens[this.#at] ?? '';
  }

  #take(token: string): boolean {
    if (this.#peek() !== token) return false;
    this.#at += 1;
    return true;
  }

  #assignment(): bigint {
    const name = this.#peek();
    const operator = this.#tokens[this.#at + 1] ?? '';
    if (!/^[A-Za-z_]/.test(name) || !/^(?:[-+*/%&|^]|<<|>>)?=$/.test(operator)) return this.#conditional();
    this.#at += 2;
    const right = this.#assignment();
    const value = operator === '=' ? right : calculate(operator.slice(0, -1), this.#value(name), right);
    this.#variables.set(name, String(value));
    return value;
  }

  #conditional(): bigint {
    const condition = this.#binary(0);
    if (!this.#take('?')) return condition;
    const yes = this.#assignment();
    if (!this.#take(':')) throw new ArithmeticError("expecting `:'");
    const no = this.#conditional();
    return condition !== 0n ? yes : no;
  }

  #binary(level: number): bigint {
    const operators = precedence[level];
    if (!operators) return this.#unary();
    let left = this.#binary(level + 1);
    while (operators.includes(this.#peek())) {
      const operator = this.#peek();
      this.#at += 1;
      left = calculate(operator, left, this.#binary(level + 1));
    }
    return left;
  }

  #unary(): bigint {
    const token = this.#peek();
    this.#at += 1;
    if (token === '-') return BigInt.asIntN(64, -this.#unary());
    if (token === '+') return this.#unary();
    if (token === '!') return this.#unary() === 0n ? 1n : 0n;
    if (token === '~') return ~this.#unary();
    if (token === '(') {
      const value = this.#assignment();
      if (!this.#take(')')) throw new ArithmeticError("expecting `)'");
      return value;
    }
    if (token === '++' || token === '--') {
      const name = this.#peek();
      this.#at += 1;
      return this.#step(name, token);
    }
    if (/^[0-9]/.test(token)) return toNumber(token);
    if (!/^[A-Za-z_]/.test(token)) throw new ArithmeticError('expecting primary');
    const value = this.#value(token);
    if (this.#peek() === '++' || this.#peek() === '--') {
      this.#step(token, this.#peek());
      this.#at += 1;
    }
    return value;
  }

  #step(name: string, operator: string): bigint {
    const value = calculate(operator === '++' ? '+' : '-', this.#value(name), 1n);
    this.#variables.set(name, String(value));
    return value;
  }

  #value(name: string): bigint {
    const text = this.#variables.get(name).trim();
    if (text === '') return 0n;
    if (/^[-+]?[0-9]/.test(text))
      return text.startsWith('-') ? -toNumber(text.slice(1)) : toNumber(text.replace('+', ''));
    if (/^[A-Za-z_][A-Za-z0-9_]*$/.test(text) && text !== name) return this.#value(text);
    throw new ArithmeticError(`Illegal number: ${text}`);
  }
}

function split(text: string, steps: boolean): string[] {
  const found: string[] = [];
  tokens.lastIndex = 0;
  while (tokens.lastIndex < text.trimEnd().length) {
    const { lastIndex } = tokens;
    const match = tokens.exec(text);
    if (!match) throw new ArithmeticError(`syntax error: "${text.slice(lastIndex).trim()}"`);
    const [, token = ''] = match;
    if (!steps && (token === '++' || token === '--')) found.push(...token);
    else found.push(token);
  }
  return found;
}

function toNumber(text: string): bigint {
  if (!/^(?:0[xX][0-9a-fA-F]+|0[0-7]*|[1-9][0-9]*)$/.test(text)) throw new ArithmeticError(`Illegal number: ${text}`);
  return BigInt(/^0[0-7]+$/.test(text) ? `0o${text.slice(1)}` : text);
}

function calculate(operator: string, left: bigint, right: bigint): bigint {
  if ((operator === '/' || operator === '%') && right === 0n) throw new ArithmeticError('division by zero');
  const truth = (value: boolean): bigint => (value ? 1n : 0n);
  const results: Readonly<Record<string, () => bigint>> = {
    '||': () => truth(left !== 0n || right !== 0n),
    '&&': () => truth(left !== 0n && right !== 0n),
    '|': () => left | right,
    '^': () => left ^ right,
    '&': () => left & right,
    '==': () => truth(left === right),
    '!=': () => truth(left !== right),
    '<=': () => truth(left <= right),
    '>=': () => truth(left >= right),
    '<': () => truth(left < right),
    '>': () => truth(left > right),
    '<<': () => left << (right & 63n),
    '>>': () => left >> (right & 63n),
    '+': () => left + right,
    '-': () => left - right,
    '*': () => left * right,
    '/': () => left / right,
    '%': () => left % right,
  };
  const result = results[operator];
  if (!result) throw new ArithmeticError(`syntax error: "${operator}"`);
  return BigInt.asIntN(64, result());
}
