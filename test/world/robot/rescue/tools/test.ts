import type { FileSystemNode } from '../files/file-nodes.ts';
import { Errno } from '../io/errno.ts';
import type { RescueProcess } from '../process.ts';

/** A complaint of `test`, in the words of the shell that asks. */
export type TestOutcome = boolean | { readonly error: string };

/** One operator with one operand; undefined: there is no such operator. */
export function testUnary(operator: string, operand: string, process: RescueProcess): boolean | undefined {
  if (operator === '-n') return operand !== '';
  if (operator === '-z') return operand === '';
  if (operator === '-t') return false;
  if (!/^-[abcdefghkprsuwxLSOG]$/.test(operator)) return undefined;
  const node = look(process, operand, operator !== '-L' && operator !== '-h');
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
    case '-h':
    case '-L':
      return node.kind === 'link';
    case '-p':
      return node.kind === 'fifo';
    case '-s':
      return node.kind === 'file' ? node.length > 0 : node.kind === 'directory';
    case '-x':
      return node.kind === 'directory' || (node.kind === 'file' && (node.mode & 0o111) !== 0);
    case '-S':
    case '-g':
    case '-k':
    case '-u':
      return false;
    default:
      return true;
  }
}

function look(process: RescueProcess, path: string, follow: boolean): FileSystemNode | undefined {
  const own = /^\/dev\/fd\/(\d+)$/.exec(path);
  if (own)
    return process.descriptors.get(Number(own[1])) ? { kind: 'virtual', mode: 0o600, read: () => '' } : undefined;
  try {
    return process.system.files.get(path, process.cwd, follow);
  } catch (error) {
    if (error instanceof Errno) return undefined;
    throw error;
  }
}

/** One operator between two operands. */
export function testBinary(
  operator: string,
  left: string,
  right: string,
  process: RescueProcess,
): TestOutcome | undefined {
  switch (operator) {
    case '=':
    case '==':
      return left === right;
    case '!=':
      return left !== right;
    case '<':
      return left < right;
    case '>':
      return left > right;
    case '-ef': {
      const node = look(process, left, true);
      return node !== undefined && node === look(process, right, true);
    }
    case '-nt':
    case '-ot':
      return false;
    default:
      return /^-(?:eq|ne|lt|le|gt|ge)$/.test(operator) ? compare(operator, left, right) : undefined;
  }
}

function compare(operator: string, left: string, right: string): TestOutcome {
  const bad = [left, right].find((text) => !/^\s*[-+]?\d+\s*$/.test(text));
  if (bad !== undefined) return { error: bad };
  const [a, b] = [BigInt(left.trim().replace('+', '')), BigInt(right.trim().replace('+', ''))];
  if (operator === '-eq') return a === b;
  if (operator === '-ne') return a !== b;
  if (operator === '-lt') return a < b;
  if (operator === '-le') return a <= b;
  return operator === '-gt' ? a > b : a >= b;
}

/** Words of complaint that differ between shells. */
export interface TestWords {
  readonly dialect: 'dash' | 'bash';
}

/** `test` and `[`, with the rules of POSIX by the number of arguments. */
export function runTest(args: readonly string[], process: RescueProcess, { dialect }: TestWords): TestOutcome {
  const isBash = dialect === 'bash';
  const [first = '', second = '', third = ''] = args;
  const number = (outcome: TestOutcome | undefined): TestOutcome | undefined =>
    typeof outcome === 'object'
      ? { error: isBash ? `${outcome.error}: integer expression expected` : `Illegal number: ${outcome.error}` }
      : outcome;
  const isBinary = (word: string): boolean =>
    /^(?:=|!=|<|>|-(?:eq|ne|lt|le|gt|ge|nt|ot|ef))$/.test(word) || (isBash && word === '==');
  switch (args.length) {
    case 0:
      return false;
    case 1:
      return first !== '';
    case 2: {
      if (first === '!') return second === '';
      const outcome = testUnary(first, second, process);
      if (outcome !== undefined) return outcome;
      return { error: isBash ? `${first}: unary operator expected` : `${first}: unexpected operator` };
    }
    case 3: {
      if (isBinary(second)) return number(testBinary(second, first, third, process)) ?? false;
      if (second === '-a') return first !== '' && third !== '';
      if (second === '-o') return first !== '' || third !== '';
      if (first === '!') return negate(runTest(args.slice(1), process, { dialect }));
      if (first === '(' && third === ')') return second !== '';
      return {
        error: isBash ? `${second}: binary operator expected` : `${first}: unexpected operator`,
      };
    }
    default:
      return joined(args, process, dialect);
  }
}

const negate = (outcome: TestOutcome): TestOutcome => (typeof outcome === 'boolean' ? !outcome : outcome);

/** More than three: `!` before the rest, or `-o` and `-a` between tests. */
function joined(args: readonly string[], process: RescueProcess, dialect: 'dash' | 'bash'): TestOutcome {
  for (const operator of ['-o', '-a']) {
    const at = args.indexOf(operator, 1);
    if (at < 0 || at === args.length - 1) continue;
    const left = runTest(args.slice(0, at), process, { dialect });
    const right = runTest(args.slice(at + 1), process, { dialect });
    if (typeof left !== 'boolean') return left;
    if (typeof right !== 'boolean') return right;
    return operator === '-o' ? left || right : left && right;
  }
  if (args[0] === '!') return negate(runTest(args.slice(1), process, { dialect }));
  if (args[0] === '(' && args.at(-1) === ')') return runTest(args.slice(1, -1), process, { dialect });
  return { error: dialect === 'bash' ? 'too many arguments' : `${args[1]}: unexpected operator` };
}
