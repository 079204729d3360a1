import { Errno, signals } from '../io/errno.ts';
import { RescueProcess } from '../process.ts';
import { print, unescapeText } from '../tools/printf.ts';
import { runTest } from '../tools/test.ts';
import type { Dialect } from './ast.ts';
import { expandArithmetic } from './expand.ts';
import { Exit, LoopJump, Return } from './jumps.ts';
import { read } from './read.ts';
import { setOptions } from './set.ts';
import type { Shell } from './shell.ts';

/** Runs within the shell. `args` begins with its name. */
export type Builtin = (shell: Shell, args: readonly string[]) => Promise<number> | number;

/** Those whose assignments stay, by POSIX. */
export const specialBuiltins: ReadonlySet<string> = new Set(
  ': . break continue eval exec exit export readonly return set shift trap unset'.split(' '),
);

/** What runs under a name without a program of that name. */
export function findBuiltin(name: string, dialect: Dialect): Builtin | undefined {
  if (dialect === 'dash' && bashOnly.has(name)) return undefined;
  return builtins.get(name);
}

const bashOnly = new Set(['source', 'builtin', 'let', 'declare', 'typeset', 'shopt', 'mapfile']);

const complain = async (shell: Shell, name: string, message: string, status = 1): Promise<number> => {
  await shell.process.error(`${shell.state.prefix}${name}: ${message}\n`);
  return status;
};

const count = (text: string | undefined, usual: number): number => (text === undefined ? usual : Number(text));

async function echo(shell: Shell, args: readonly string[]): Promise<number> {
  const words = args.slice(1);
  const { isBash } = shell.state;
  let newline = true;
  let escapes = !isBash;
  while (isBash ? /^-[neE]+$/.test(words[0] ?? '') : words[0] === '-n') {
    const flags = words.shift() ?? '';
    if (flags.includes('n')) newline = false;
    if (/[eE]/.test(flags)) escapes = flags.lastIndexOf('e') > flags.lastIndexOf('E');
    if (!isBash) break;
  }
  const plain = words.join(' ');
  const { text, stops } = escapes
    ? unescapeText(plain, { extended: isBash, zeroFirst: true })
    : { text: plain, stops: false };
  await shell.process.out(newline && !stops ? `${text}\n` : text);
  return 0;
}

async function printf(shell: Shell, given: readonly string[]): Promise<number> {
  const args = given[1] === '--' ? [given[0] ?? '', ...given.slice(2)] : given;
  const isVariable = shell.state.isBash && args[1] === '-v';
  const [format, ...values] = args.slice(isVariable ? 3 : 1);
  if (format === undefined) {
    const usage = shell.state.isBash ? 'usage: printf [-v var] format [arguments]' : 'usage: printf format [arg ...]';
    return await complain(shell, 'printf', usage, 2);
  }
  const { text, errors } = print(format, values, shell.state.dialect);
  if (isVariable) shell.state.set(args[2] ?? '', text);
  else await shell.process.out(text);
  for (const error of errors) await complain(shell, 'printf', error);
  // A directive that it does not know ends dash.
  if (!shell.state.isBash && errors.some((error) => error.endsWith('invalid directive'))) throw new Exit(2);
  return errors.length > 0 ? 1 : 0;
}

async function test(shell: Shell, args: readonly string[]): Promise<number> {
  const [name = ''] = args;
  if (name === '[' && args.at(-1) !== ']')
    return await complain(shell, '[', shell.state.isBash ? "missing `]'" : 'missing ]', 2);
  const operands = name === '[' ? args.slice(1, -1) : args.slice(1);
  const outcome = runTest(operands, shell.process, shell.state);
  if (typeof outcome === 'boolean') return outcome ? 0 : 1;
  return await complain(shell, name, outcome.error, 2);
}

async function cd(shell: Shell, args: readonly string[]): Promise<number> {
  const { process, state } = shell;
  const target = args[1] === '-' ? state.get('OLDPWD') : (args[1] ?? state.get('HOME'));
  try {
    const { node, path } = process.system.files.find(target ?? '', process.cwd);
    if (node?.kind !== 'directory') throw new Errno(node ? 'ENOTDIR' : 'ENOENT');
    state.set('OLDPWD', process.cwd);
    process.cwd = path;
    state.set('PWD', path);
    return 0;
  } catch (error) {
    if (!(error instanceof Errno)) throw error;
    if (state.isBash) return await complain(shell, 'cd', `${target}: ${error.message}`);
    return await complain(shell, 'cd', `can't cd to ${target}`, 2);
  }
}

function declare(shell: Shell, args: readonly string[], change: { exported?: true; readOnly?: true }): number {
  for (const arg of args.slice(1)) {
    if (/^-/.test(arg)) continue;
    const [, name = '', value] = /^([^=]*)(?:=([\s\S]*))?$/.exec(arg) ?? [];
    if (value !== undefined) shell.state.set(name, value);
    const variable = shell.state.variables.get(name) ?? { value: '', exported: false, readOnly: false };
    if (value !== undefined || shell.state.variables.has(name))
      shell.state.variables.set(name, Object.assign(variable, change));
  }
  return 0;
}

async function local(shell: Shell, args: readonly string[]): Promise<number> {
  const hidden = shell.state.locals.at(-1);
  if (!hidden) {
    return shell.state.isBash
      ? await complain(shell, 'local', 'can only be used in a function')
      : await complain(shell, 'local', 'not in a function', 2);
  }
  for (const arg of args.slice(1)) {
    if (arg.startsWith('-')) continue;
    const [, name = '', value] = /^([^=]*)(?:=([\s\S]*))?$/.exec(arg) ?? [];
    if (!hidden.has(name)) hidden.set(name, shell.state.variables.get(name));
    const before = shell.state.variables.get(name);
    // dash keeps the value that a local variable hides.
    shell.state.variables.delete(name);
    if (value !== undefined) shell.state.set(name, value);
    else if (!shell.state.isBash && before) shell.state.variables.set(name, { ...before });
  }
  return 0;
}

function unset(shell: Shell, args: readonly string[]): number {
  for (const name of args.slice(1)) {
    if (name === '-v' || name === '-f') continue;
    if (args[1] !== '-f' && shell.state.variables.has(name)) shell.state.variables.delete(name);
    else if (args[1] !== '-v') shell.state.functions.delete(name);
  }
  return 0;
}

async function exec(shell: Shell, args: readonly string[]): Promise<number> {
  const { system, descriptors, cwd, signal } = shell.process;
  const process = new RescueProcess({
    ...{ system, cwd, signal },
    args: args.slice(1),
    environment: shell.state.exported(),
    descriptors: descriptors.copy(),
  });
  try {
    throw new Exit(await system.run(process, shell.state));
  } finally {
    process.descriptors.closeAll();
  }
}

async function wait(shell: Shell, args: readonly string[]): Promise<number> {
  const ids = args.slice(1).filter((arg) => /^\d+$/.test(arg));
  let status = 0;
  for (const id of ids.length > 0 ? ids.map(Number) : shell.jobs.ids()) {
    const ended = await race(shell, shell.jobs.take(id));
    status = ids.length > 0 ? (ended ?? 127) : 0;
    if (ended === undefined && shell.state.isBash) {
      await complain(shell, 'wait', `pid ${id} is not a child of this shell`);
    }
  }
  return status;
}

/** Whoever waits can be ended, too. */
async function race<T>(shell: Shell, waited: Promise<T>): Promise<T> {
  const { signal } = shell.process;
  let stop = (): void => {};
  const ended = new Promise<never>((_, reject) => {
    stop = () => reject(signal.reason);
    signal.addEventListener('abort', stop, { once: true });
  });
  try {
    return await Promise.race([waited, ended]);
  } finally {
    signal.removeEventListener('abort', stop);
  }
}

async function kill(shell: Shell, args: readonly string[]): Promise<number> {
  let number: number = signals.TERM;
  let status = 0;
  for (const arg of args.slice(1)) {
    const named = /^-(?:SIG)?([A-Z0-9]+)$/.exec(arg)?.[1];
    if (named !== undefined) {
      number = /^\d+$/.test(named) ? Number(named) : (signals[named as keyof typeof signals] ?? number);
      continue;
    }
    const job = shell.jobs.get(Number(arg));
    if (!job) {
      const message = shell.state.isBash ? `(${arg}) - No such process` : 'No such process';
      status = await complain(shell, 'kill', message);
    } else if (number !== 0) job.process?.kill(number);
  }
  return status;
}

async function command(shell: Shell, args: readonly string[]): Promise<number> {
  if (args[1] !== '-v' && args[1] !== '-V') {
    const rest = args.slice(1);
    const builtin = findBuiltin(rest[0] ?? '', shell.state.dialect);
    if (builtin) return await builtin(shell, rest);
    const { system, descriptors, cwd, signal } = shell.process;
    const process = new RescueProcess({
      ...{ system, cwd, signal },
      args: rest,
      environment: shell.state.exported(),
      descriptors: descriptors.copy(),
    });
    try {
      return await system.run(process, shell.state);
    } finally {
      process.descriptors.closeAll();
    }
  }
  const name = args[2] ?? '';
  const known = shell.state.functions.has(name) || findBuiltin(name, shell.state.dialect) !== undefined;
  const path = known ? name : shell.process.system.findProgram(name);
  if (path === undefined) return shell.state.isBash ? 1 : 127;
  await shell.process.out(`${path}\n`);
  return 0;
}

async function shift(shell: Shell, args: readonly string[]): Promise<number> {
  const number = count(args[1], 1);
  if (number > shell.state.positional.length) {
    if (shell.state.isBash) return 1;
    throw new Exit(await complain(shell, 'shift', "can't shift that many", 2));
  }
  shell.state.positional = shell.state.positional.slice(number);
  return 0;
}

function trap(shell: Shell, args: readonly string[]): number {
  const [action = '', ...names] = args.slice(1).filter((arg) => arg !== '--');
  if (names.includes('EXIT') || names.includes('0'))
    shell.state.exitTrap = action === '-' || action === '' ? undefined : action;
  return 0;
}

async function source(shell: Shell, args: readonly string[]): Promise<number> {
  const path = args[1] ?? '';
  try {
    const text = (await shell.process.readFile(path)).toString('latin1');
    shell.sourceDepth += 1;
    return await shell.evaluate(text, path).finally(() => {
      shell.sourceDepth -= 1;
    });
  } catch (error) {
    if (error instanceof Return) return error.status;
    if (!(error instanceof Errno)) throw error;
    if (shell.state.isBash) {
      await shell.process.error(`${shell.state.prefix}${path}: ${error.message}\n`);
      return 1;
    }
    await complain(shell, args[0] ?? '.', `cannot open ${path}: No such file`);
    throw new Exit(2);
  }
}

const jump =
  (kind: 'break' | 'continue'): Builtin =>
  (_shell, args) => {
    throw new LoopJump(kind, count(args[1], 1));
  };

const builtins: ReadonlyMap<string, Builtin> = new Map<string, Builtin>([
  [':', () => 0],
  ['true', () => 0],
  ['false', () => 1],
  ['echo', echo],
  ['printf', printf],
  ['test', test],
  ['[', test],
  ['cd', cd],
  ['set', setOptions],
  ['read', read],
  ['exec', exec],
  ['wait', wait],
  ['kill', kill],
  ['command', command],
  ['shift', shift],
  ['trap', trap],
  ['.', source],
  ['source', source],
  ['local', local],
  ['declare', (shell, args) => (shell.functionDepth > 0 ? local(shell, args) : declare(shell, args, {}))],
  ['unset', unset],
  ['export', (shell, args) => declare(shell, args, { exported: true })],
  ['readonly', (shell, args) => declare(shell, args, { readOnly: true })],
  ['break', jump('break')],
  ['continue', jump('continue')],
  ['shopt', () => 0],
  [
    'let',
    async (shell, args) => {
      let value = 0n;
      for (const text of args.slice(1)) value = await expandArithmetic(shell, [{ kind: 'text', text, quoted: true }]);
      return value === 0n ? 1 : 0;
    },
  ],
  ['umask', () => 0],
  ['ulimit', () => 0],
  ['eval', (shell, args) => shell.evaluate(args.slice(1).join(' '), 'eval')],
  [
    'pwd',
    async (shell) => {
      await shell.process.out(`${shell.process.cwd}\n`);
      return 0;
    },
  ],
  [
    'exit',
    (shell, args) => {
      throw new Exit(count(args[1], shell.state.status) & 0xff);
    },
  ],
  [
    'return',
    (shell, args) => {
      if (shell.state.isBash && shell.functionDepth === 0 && shell.sourceDepth === 0)
        return complain(shell, 'return', "can only `return' from a function or sourced script", 2);
      throw new Return(count(args[1], shell.state.status) & 0xff);
    },
  ],
  [
    'type',
    async (shell, args) => {
      const name = args[1] ?? '';
      const path = shell.process.system.findProgram(name);
      const what = findBuiltin(name, shell.state.dialect) ? 'a shell builtin' : path;
      if (what === undefined) {
        if (shell.state.isBash) return await complain(shell, 'type', `${name}: not found`);
        await shell.process.out(`${name}: not found\n`);
        return 127;
      }
      await shell.process.out(`${name} is ${what}\n`);
      return 0;
    },
  ],
]);
