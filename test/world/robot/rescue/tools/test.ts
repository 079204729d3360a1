import type { FileSystemNode } from '../files/file-nodes.ts';
import { Errno } from '../io/errno.ts';
import type { RescueProcess } from '../process.ts';

/** The answer of `test`, or its complaint. */
export type TestOutcome = boolean | { readonly error: string; readonly isForeign?: true };

/** `test` and `[`, with the rules of POSIX by the number of arguments. */
export function runTest(args: readonly string[], process: RescueProcess): TestOutcome {
  const [first = '', second = '', third = ''] = args;
  if (first === '!' && args.length > 1 && !(args.length === 3 && isBinary(second))) {
    const outcome = runTest(args.slice(1), process);
    return typeof outcome === 'boolean' ? !outcome : outcome;
  }
  if (args.length < 2) return first !== '';
  const outcome = args.length === 2 ? testUnary(first, second, process) : undefined;
  if (outcome !== undefined) return outcome;
  if (args.length === 3 && isBinary(second)) return testBinary(second, first, third);
  const operator = args.length === 2 ? first : second;
  // Other operators of the real shells.
  if (args.length > 3 || /^(?:-[a-zA-Z]+|==|[<>(])$/.test(operator)) return { error: operator, isForeign: true };
  return { error: `${operator}: unexpected operator` };
}

/** One operator with one operand; undefined: it is not simulated. */
function testUnary(operator: string, operand: string, process: RescueProcess): boolean | undefined {
  if (operator === '-n') return operand !== '';
  if (operator === '-z') return operand === '';
  if (!/^-[bcdefps]$/.test(operator)) return undefined;
  const node = findNode(process, operand);
  if (!node) return false;
  switch (operator) {
    case '-b':
      return node.kind === 'block';
    case '-c':
      return node.kind === 'character';
    case '-d':
      return node.kind === 'directory';
    case '-f':
      return node.kind === 'file' || node.kind === 'virtual';
    case '-p':
      return node.kind === 'fifo';
    case '-s':
      return node.kind === 'file' ? node.length > 0 : node.kind === 'directory';
    default:
      return true;
  }
}

function findNode(process: RescueProcess, path: string): FileSystemNode | undefined {
  try {
    return process.system.files.get(path, process.cwd);
  } catch (error) {
    if (error instanceof Errno) return undefined;
    throw error;
  }
}

const isBinary = (word: string): boolean => /^(?:!?=|-(?:eq|ne|lt|le|gt|ge))$/.test(word);

function testBinary(operator: string, left: string, right: string): TestOutcome {
  if (operator === '=') return left === right;
  if (operator === '!=') return left !== right;
  const bad = [left, right].find((text) => !/^\s*-?\d+\s*$/.test(text));
  if (bad !== undefined) return { error: `Illegal number: ${bad}` };
  const [a, b] = [BigInt(left.trim()), BigInt(right.trim())];
  if (operator === '-eq') return a === b;
  if (operator === '-ne') return a !== b;
  if (operator === '-lt') return a < b;
  if (operator === '-le') return a <= b;
  return operator === '-gt' ? a > b : a >= b;
}
