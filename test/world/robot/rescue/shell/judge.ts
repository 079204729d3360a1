import { testBinary, testUnary } from '../tools/test.ts';
import { evaluate } from './arithmetic.ts';
import type { TestExpression } from './ast.ts';
import { expandPattern, expandText, fits } from './expand.ts';
import type { Shell } from './shell.ts';
import { ShellError } from './state.ts';

/** What `[[ … ]]` comes to. */
export async function judge(shell: Shell, expression: TestExpression): Promise<boolean> {
  switch (expression.kind) {
    case 'not':
      return !(await judge(shell, expression.operand));
    case 'and':
      return (await judge(shell, expression.left)) && (await judge(shell, expression.right));
    case 'or':
      return (await judge(shell, expression.left)) || (await judge(shell, expression.right));
    case 'unary': {
      const text = await expandText(shell, expression.operand);
      if (expression.operator === '-v') return shell.state.variables.has(text);
      const result = testUnary(expression.operator, text, shell.process);
      if (result === undefined) throw new ShellError(`conditional unary operator expected`, { status: 2 });
      return result;
    }
    case 'binary':
      return await judgeBinary(shell, expression);
  }
}

async function judgeBinary(
  shell: Shell,
  { operator, left, right }: Extract<TestExpression, { kind: 'binary' }>,
): Promise<boolean> {
  const text = await expandText(shell, left);
  if (operator === '==' || operator === '=') return await fits(shell, text, right);
  if (operator === '!=') return !(await fits(shell, text, right));
  if (operator === '=~') {
    const pieces = await expandPattern(shell, right);
    const source = pieces.map((chunk) =>
      chunk.quoted ? chunk.text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&') : chunk.text,
    );
    const found = new RegExp(source.join('')).exec(text);
    if (found)
      shell.state.set(
        'BASH_REMATCH',
        [...found].map((one) => one ?? ''),
      );
    return found !== null;
  }
  const other = await expandText(shell, right);
  if (operator === '<') return text < other;
  if (operator === '>') return text > other;
  if (/^-(?:eq|ne|lt|le|gt|ge)$/.test(operator)) {
    const variables = { get: (name: string) => shell.state.get(name) ?? '', set: () => {}, steps: true };
    const [a, b] = [evaluate(text, variables), evaluate(other, variables)];
    const results: Readonly<Record<string, boolean>> = {
      '-eq': a === b,
      '-ne': a !== b,
      '-lt': a < b,
      '-le': a <= b,
      '-gt': a > b,
      '-ge': a >= b,
    };
    return results[operator] ?? false;
  }
  const result = testBinary(operator, text, other, shell.process);
  if (typeof result !== 'boolean') throw new ShellError('conditional binary operator expected', { status: 2 });
  return result;
}
