import type { Redirection, Word } from 'unbash';
import type { OpenMode } from '../files/file-nodes.ts';
import { Errno } from '../io/errno.ts';
import type { RescueProcess } from '../process.ts';
import { expandText } from './expand.ts';
import type { Shell } from './shell.ts';
import { ShellError } from './state.ts';

const modes: Readonly<Record<'<' | '>' | '>>', OpenMode>> = {
  '<': { read: true, write: false },
  '>': { read: false, write: true, create: true, truncate: true },
  '>>': { read: false, write: true, create: true, append: true },
};

/** Runs something in the shell itself with other open files, and puts back those that were. */
export async function withRedirections<T>(
  shell: Shell,
  redirections: readonly Redirection[],
  work: () => Promise<T>,
): Promise<T> {
  const { descriptors } = shell.process;
  const numbers = new Set(redirections.map(numberOf));
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

const numberOf = ({ operator, descriptor }: Redirection): number =>
  descriptor?.type === 'FileDescriptor' ? descriptor.value : operator.startsWith('<') ? 0 : 1;

/** Carries out one redirection on the open files of a process. Throws a ShellError. */
export async function redirect(shell: Shell, redirection: Redirection, process: RescueProcess): Promise<void> {
  const { operator } = redirection;
  const number = numberOf(redirection);
  // Others are refused when the script is parsed.
  const word = await expandText(shell, (redirection as { target: Word }).target);
  const status = shell.state.isBash ? 1 : 2;
  if (operator === '<' || operator === '>' || operator === '>>') {
    try {
      process.descriptors.set(number, await process.open(word, modes[operator]));
    } catch (error) {
      if (!(error instanceof Errno)) throw error;
      throw new ShellError(`${word}: ${error.message}`, { status });
    }
  } else if (word === '-') process.descriptors.delete(number);
  else {
    const found = process.descriptors.get(Number(word));
    if (!found) throw new ShellError(`${word}: Bad file descriptor`, { status });
    if (Number(word) !== number) process.descriptors.set(number, found.duplicate());
  }
}
