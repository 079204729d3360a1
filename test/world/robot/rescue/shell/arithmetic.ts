import type { ArithmeticExpression, Statement } from 'unbash';

/** The expression makes no sense. The message is the beginning of what dash says. */
export class ArithmeticError extends Error {}

/** What an expression asks of its shell. */
export interface ArithmeticContext {
  lookUp(name: string): string;
  capture(body: readonly Statement[]): Promise<string>;
}

/** The value of an expression in 64 bits, as `$((…))` has it. Throws an {@link ArithmeticError}. */
export async function evaluate(node: ArithmeticExpression, context: ArithmeticContext): Promise<bigint> {
  switch (node.type) {
    case 'ArithmeticGroup':
      return await evaluate(node.expression, context);
    case 'ArithmeticTernary':
      return await evaluate((await evaluate(node.test, context)) !== 0n ? node.consequent : node.alternate, context);
    case 'ArithmeticUnary': {
      const value = await evaluate(node.operand, context);
      return node.operator === '-' ? BigInt.asIntN(64, -value) : truth(value === 0n);
    }
    case 'ArithmeticBinary':
      return calculate(node.operator, await evaluate(node.left, context), await evaluate(node.right, context));
    case 'ArithmeticCommandExpansion':
      return toNumber(await context.capture(node.script?.commands ?? []));
    case 'ArithmeticWord': {
      const [, name] = /^"?\$?\{?([A-Za-z_]\w*|(?<=[${])(?:\d+|[#?$!]))\}?"?$/.exec(node.value) ?? [];
      return toNumber(name === undefined ? node.value : context.lookUp(name));
    }
  }
}

/** Decimal numbers; nothing is 0. */
function toNumber(text: string): bigint {
  if (!/^\s*(?:|-?(?:0|[1-9][0-9]*))\s*$/.test(text)) throw new ArithmeticError(`Illegal number: ${text}`);
  return BigInt(text.trim());
}

const truth = (value: boolean): bigint => (value ? 1n : 0n);

const operations: Readonly<Record<string, (left: bigint, right: bigint) => bigint>> = {
  '||': (left, right) => truth(left !== 0n || right !== 0n),
  '&&': (left, right) => truth(left !== 0n && right !== 0n),
  '==': (left, right) => truth(left === right),
  '!=': (left, right) => truth(left !== right),
  '<=': (left, right) => truth(left <= right),
  '>=': (left, right) => truth(left >= right),
  '<': (left, right) => truth(left < right),
  '>': (left, right) => truth(left > right),
  '+': (left, right) => left + right,
  '-': (left, right) => left - right,
  '*': (left, right) => left * right,
  '/': (left, right) => left / right,
  '%': (left, right) => left % right,
};

function calculate(operator: string, left: bigint, right: bigint): bigint {
  if ((operator === '/' || operator === '%') && right === 0n) throw new ArithmeticError('division by zero');
  return BigInt.asIntN(64, operations[operator]?.(left, right) ?? 0n);
}
