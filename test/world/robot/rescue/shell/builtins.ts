import { Errno, signals } from '../io/errno.ts';
import { RescueProcess } from '../process.ts';
import { print, unescapeText } from '../tools/printf.ts';
import { runTest } from '../tools/test.ts';
import { Exit, LoopJump, Return } from './jumps.ts';
import { read } from './read.ts';
import type { Shell } from './shell.ts';

/** Runs within the shell. `args` begins with its name. */
export type Builtin = (shell: Shell, args: readonly string[]) => Promise<number> | number;

const toNumber = (text: string | undefined, usual: number): number => (text === undefined ? usual : Number(text));

async function echo(shell: Shell, args: readonly string[]): Promise<number> {
  const words = args.slice(1);
  if (shell.state.isBash && /^-[neE]+$/.test(words[0] ?? '')) return await shell.refuse('echo', 'no option');
  const newline = words[0] === '-n' ? '' : '\n';
  const plain = (newline ? words : words.slice(1)).join(' ');
  // dash replaces escapes, bash does not.
  const { text, stops } = shell.state.isBash ? { text: plain, stops: false } : unescapeText(plain, 'dash');
  await shell.process.out(stops ? text : `${text}${newline}`);
  return 0;
}

async function printf(shell: Shell, [, format, ...values]: readonly string[]): Promise<number> {
  if (format === undefined || format.startsWith('-')) return await shell.refuse('printf', 'only a format');
  const { text, invalid } = print(format, values, shell.state.dialect);
  await shell.process.out(text);
  if (invalid !== undefined) return await shell.refuse('printf', `no %${invalid}, but %s, %b and %%`);
  return 0;
}

async function test(shell: Shell, args: readonly string[]): Promise<number> {
  const [name = ''] = args;
  if (name === '[' && args.at(-1) !== ']') return await shell.fail('[', 'missing ]', 2);
  const outcome = runTest(name === '[' ? args.slice(1, -1) : args.slice(1), shell.process);
  if (typeof outcome === 'boolean') return outcome ? 0 : 1;
  if (outcome.isForeign) return await shell.refuse(name, `no ${outcome.error}`);
  return await shell.fail(name, outcome.error, 2);
}

async function cd(shell: Shell, [, target = '']: readonly string[]): Promise<number> {
  const { process, state } = shell;
  try {
    const { node, path } = process.system.files.find(target, process.cwd);
    if (node?.kind !== 'directory') throw new Errno(node ? 'ENOTDIR' : 'ENOENT');
    process.cwd = path;
    return 0;
  } catch (error) {
    if (!(error instanceof Errno)) throw error;
    return await shell.fail('cd', `can't cd to ${target}`, state.isBash ? 1 : 2);
  }
}

/** `-u`, or positional parameters after `--`. */
async function set(shell: Shell, args: readonly string[]): Promise<number> {
  const [, option, ...rest] = args;
  if (option === '--') shell.state.positional = rest;
  else if (option === '-u' && rest.length === 0) shell.state.endsWhenUnset = true;
  else throw new Exit(await shell.fail('set', `Illegal option ${args.slice(1).join(' ')}`, 2));
  return 0;
}

function exportNames({ state }: Shell, args: readonly string[]): number {
  for (const arg of args.slice(1)) {
    const [, name = '', value] = /^([^=]*)(?:=([\s\S]*))?$/.exec(arg) ?? [];
    if (value !== undefined) state.set(name, value);
    const variable = state.variables.get(name);
    if (variable) variable.exported = true;
  }
  return 0;
}

async function local(shell: Shell, args: readonly string[]): Promise<number> {
  const { variables, locals, isBash } = shell.state;
  const hidden = locals.at(-1);
  if (!hidden) return await shell.fail('local', 'not in a function', isBash ? 1 : 2);
  for (const arg of args.slice(1)) {
    const [, name = '', value] = /^([^=]*)(?:=([\s\S]*))?$/.exec(arg) ?? [];
    const before = variables.get(name);
    if (!hidden.has(name)) hidden.set(name, before);
    variables.delete(name);
    if (value !== undefined) shell.state.set(name, value);
    // dash keeps the value that a local variable hides.
    else if (!isBash && before) variables.set(name, { ...before });
  }
  return 0;
}

async function exec(shell: Shell, args: readonly string[]): Promise<number> {
  const { system, descriptors, cwd, signal } = shell.process;
  const environment = shell.state.exported();
  const process = new RescueProcess({
    ...{ system, cwd, signal, environment, args: args.slice(1) },
    descriptors: descriptors.copy(),
  });
  try {
    throw new Exit(await system.run(process, shell.state));
  } finally {
    process.descriptors.closeAll();
  }
}

async function wait(shell: Shell, args: readonly string[]): Promise<number> {
  const ids = args.slice(1).map(Number);
  let status = 0;
  for (const id of ids.length > 0 ? ids : shell.jobs.ids()) {
    const ended = await untilKilled(shell, shell.jobs.take(id));
    if (ids.length > 0) status = ended;
  }
  return status;
}

/** A shell that waits can be killed. */
async function untilKilled<T>(shell: Shell, waited: Promise<T>): Promise<T> {
  const { signal } = shell.process;
  let stop = (): void => {};
  const killed = new Promise<never>((_, reject) => {
    stop = () => reject(signal.reason);
    signal.addEventListener('abort', stop, { once: true });
  });
  try {
    return await Promise.race([waited, killed]);
  } finally {
    signal.removeEventListener('abort', stop);
  }
}

async function kill(shell: Shell, args: readonly string[]): Promise<number> {
  let status = 0;
  for (const arg of args.slice(1)) {
    const job = shell.jobs.get(Number(arg));
    if (job) job.process.kill(signals.TERM);
    else status = await shell.fail('kill', `${arg}: No such process`);
  }
  return status;
}

async function command(shell: Shell, [, flag, name = '']: readonly string[]): Promise<number> {
  if (flag !== '-v') return await shell.refuse('command', 'only -v');
  const isKnown = shell.state.functions.has(name) || builtins.has(name);
  const path = isKnown ? name : shell.process.system.findProgram(name);
  if (path === undefined) return shell.state.isBash ? 1 : 127;
  await shell.process.out(`${path}\n`);
  return 0;
}

async function shift(shell: Shell, args: readonly string[]): Promise<number> {
  const number = toNumber(args[1], 1);
  const { positional, isBash } = shell.state;
  if (number > positional.length) {
    const status = await shell.fail('shift', "can't shift that many", isBash ? 1 : 2);
    if (isBash) return status;
    throw new Exit(status);
  }
  shell.state.positional = positional.slice(number);
  return 0;
}

async function trap(shell: Shell, [, action, name, more]: readonly string[]): Promise<number> {
  if (name !== 'EXIT' || more !== undefined) return await shell.refuse('trap', 'only EXIT');
  shell.state.exitTrap = action;
  return 0;
}

const jump =
  (kind: 'break' | 'continue'): Builtin =>
  (_shell, args) => {
    throw new LoopJump(kind, toNumber(args[1], 1));
  };

export const builtins: ReadonlyMap<string, Builtin> = new Map<string, Builtin>([
  [':', () => 0],
  ['true', () => 0],
  ['false', () => 1],
  ['echo', echo],
  ['printf', printf],
  ['test', test],
  ['[', test],
  ['cd', cd],
  ['set', set],
  ['read', read],
  ['exec', exec],
  ['wait', wait],
  ['kill', kill],
  ['command', command],
  ['shift', shift],
  ['trap', trap],
  ['local', local],
  ['export', exportNames],
  ['break', jump('break')],
  ['continue', jump('continue')],
  // The simulated files have no owners.
  ['umask', () => 0],
  [
    'exit',
    (shell, args) => {
      throw new Exit(toNumber(args[1], shell.state.status) & 0xff);
    },
  ],
  [
    'return',
    (shell, args) => {
      throw new Return(toNumber(args[1], shell.state.status) & 0xff);
    },
  ],
  ...[
    '.',
    'alias',
    'declare',
    'eval',
    'getopts',
    'hash',
    'jobs',
    'let',
    'mapfile',
    'pwd',
    'readonly',
    'shopt',
    'source',
    'times',
    'type',
    'ulimit',
    'unset',
  ].map((name): [string, Builtin] => [name, (shell) => shell.refuse(name, 'nothing of it')]),
]);
