import type { OpenMode } from '../files/file-nodes.ts';
import { Errno } from '../io/errno.ts';
import type { Descriptor } from '../io/open-file.ts';
import { Pipe } from '../io/pipe.ts';
import type { RescueProcess } from '../process.ts';
import type { Redirection } from './ast.ts';
import { expandText, expandWords } from './expand.ts';
import type { Shell } from './shell.ts';
import { ShellError } from './state.ts';

const modes: Readonly<Record<string, OpenMode>> = {
  '<': { read: true, write: false },
  '>': { read: false, write: true, create: true, truncate: true },
  '>|': { read: false, write: true, create: true, truncate: true },
  '&>': { read: false, write: true, create: true, truncate: true },
  '>>': { read: false, write: true, create: true, append: true },
  '&>>': { read: false, write: true, create: true, append: true },
  '<>': { read: true, write: true, create: true },
};

/** Runs something in the shell itself with other open files, and puts back those that were. */
export async function withRedirections<T>(
  shell: Shell,
  redirections: readonly Redirection[],
  work: () => Promise<T>,
): Promise<T> {
  const { descriptors } = shell.process;
  const numbers = new Set(
    redirections.flatMap(({ number, operator }) => (operator.startsWith('&') ? [1, 2] : [number])),
  );
  const saved = [...numbers].map((number) => [number, descriptors.get(number)?.duplicate()] as const);
  try {
    for (const redirection of redirections) await redirect(shell, redirection, shell.process);
    return await work();
  } finally {
    for (const [number, descriptor] of saved) {
      if (descriptor) descriptors.set(number, descriptor);
      else descriptors.delete(number);
    }
  }
}

/** Carries out one redirection on the open files of a process. Throws a ShellError. */
export async function redirect(shell: Shell, redirection: Redirection, process: RescueProcess): Promise<void> {
  const { operator, number, target } = redirection;
  if (operator === '<<' || operator === '<<<') {
    const text = await expandText(shell, target);
    process.descriptors.set(number, await fromText(operator === '<<<' ? `${text}\n` : text, process));
    return;
  }
  const words = shell.state.isBash ? await expandWords(shell, [target]) : [await expandText(shell, target)];
  const [path] = words;
  if (path === undefined || words.length > 1) throw new ShellError(`${path ?? ''}: ambiguous redirect`);
  if (operator === '<&' || operator === '>&') {
    await copyDescriptor(shell, path, redirection, process);
    return;
  }
  const opened = await openPath(shell, process, path, operator);
  if (operator.startsWith('&')) {
    process.descriptors.set(1, opened);
    process.descriptors.set(2, opened.duplicate());
  } else process.descriptors.set(number, opened);
}

async function copyDescriptor(
  shell: Shell,
  word: string,
  { number, operator }: Redirection,
  process: RescueProcess,
): Promise<void> {
  if (word === '-') {
    process.descriptors.delete(number);
    return;
  }
  const isMove = shell.state.isBash && /^\d+-$/.test(word);
  const from = Number(isMove ? word.slice(0, -1) : word);
  if (!Number.isInteger(from)) {
    // `>& file` is `&> file` in bash.
    if (!shell.state.isBash || operator !== '>&')
      throw new ShellError(`Syntax error: Bad fd number`, { status: 2, ends: true });
    const opened = await openPath(shell, process, word, '&>');
    process.descriptors.set(1, opened);
    process.descriptors.set(2, opened.duplicate());
    return;
  }
  const found = process.descriptors.get(from);
  const bad = shell.state.isBash ? `${word}: Bad file descriptor` : `${word}: Bad file descriptor`;
  if (!found) throw new ShellError(bad, { status: shell.state.isBash ? 1 : 2 });
  if (from !== number) process.descriptors.set(number, found.duplicate());
  if (isMove) process.descriptors.delete(from);
}

async function openPath(shell: Shell, process: RescueProcess, path: string, operator: string): Promise<Descriptor> {
  const mode = modes[operator] ?? { read: true, write: false };
  try {
    return await process.open(path, mode);
  } catch (error) {
    if (!(error instanceof Errno)) throw error;
    if (shell.state.isBash) throw new ShellError(`${path}: ${error.message}`);
    const reason = error.code === 'ENOENT' ? (mode.create ? 'Directory nonexistent' : 'No such file') : error.message;
    throw new ShellError(`cannot ${mode.create ? 'create' : 'open'} ${path}: ${reason}`, { status: 2 });
  }
}

/** A pipe that holds a text already. */
async function fromText(text: string, process: RescueProcess): Promise<Descriptor> {
  const { reader, writer } = Pipe.make();
  if (text !== '') await writer.file.write(Buffer.from(text, 'latin1'), process.signal);
  writer.close();
  return reader;
}
