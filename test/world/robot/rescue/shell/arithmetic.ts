/** The expression makes no sense, or is not simulated. The message is the beginning of what dash says. */
export class ArithmeticError extends Error {}

const precedence: readonly (readonly string[])[] = [
  ['||'],
  ['&&'],
  ['==', '!='],
  ['<=', '>=', '<', '>'],
  ['+', '-'],
  ['*', '/', '%'],
];
const tokens = /\s*(0(?![0-9xX])|[1-9][0-9]*|[A-Za-z_][A-Za-z0-9_]*|\|\||&&|[=!<>]=|[-+*/%](?!=)|[<>!?:()])/y;

/**
 * The value of an expression in 64 bits, as `$((…))` has it: decimal numbers, variables, and no assignments. Throws an
 * {@link ArithmeticError}.
 */
export function evaluate(text: string, lookUp: (name: string) => string): bigint {
  return new Evaluation(text, lookUp).run();
}

class Evaluation {
  readonly #tokens: readonly string[];
  readonly #lookUp: (name: string) => string;
  #at = 0;

  constructor(text: string, lookUp: (name: string) => string) {
    this.#tokens = split(text);
    this.#lookUp = lookUp;
  }

  run(): bigint {
    const value = this.#conditional();
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

  #conditional(): bigint {
    const condition = this.#binary(0);
    if (!this.#take('?')) return condition;
    const yes = this.#conditional();
    if (!this.#take(':')) throw new ArithmeticError("expecting ':'");
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
    if (token === '!') return this.#unary() === 0n ? 1n : 0n;
    if (token === '(') {
      const value = this.#conditional();
      if (!this.#take(')')) throw new ArithmeticError("expecting ')'");
      return value;
    }
    if (/^[0-9]/.test(token)) return BigInt(token);
    if (!/^[A-Za-z_]/.test(token)) throw new ArithmeticError('expecting primary');
    const text = this.#lookUp(token).trim();
    if (!/^(?:|-?(?:0|[1-9][0-9]*))$/.test(text)) throw new ArithmeticError(`Illegal number: ${text}`);
    return BigInt(text);
  }
}

function split(text: string): string[] {
  const found: string[] = [];
  for (let at = 0; at < text.trimEnd().length; at = tokens.lastIndex) {
    tokens.lastIndex = at;
    const token = tokens.exec(text)?.[1];
    if (token === undefined) throw new ArithmeticError(`syntax error: "${text.slice(at).trim()}"`);
    found.push(token);
  }
  return found;
}

function calculate(operator: string, left: bigint, right: bigint): bigint {
  if ((operator === '/' || operator === '%') && right === 0n) throw new ArithmeticError('division by zero');
  const truth = (value: boolean): bigint => (value ? 1n : 0n);
  switch (operator) {
    case '||':
      return truth(left !== 0n || right !== 0n);
    case '&&':
      return truth(left !== 0n && right !== 0n);
    case '==':
      return truth(left === right);
    case '!=':
      return truth(left !== right);
    case '<=':
      return truth(left <= right);
    case '>=':
      return truth(left >= right);
    case '<':
      return truth(left < right);
    case '>':
      return truth(left > right);
    case '+':
      return BigInt.asIntN(64, left + right);
    case '-':
      return BigInt.asIntN(64, left - right);
    case '*':
      return BigInt.asIntN(64, left * right);
    case '/':
      return left / right;
    default:
      return left % right;
  }
}
