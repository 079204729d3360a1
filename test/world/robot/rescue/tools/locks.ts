import { awaitUnlock, tryLock, unlock } from '../io/file-locks.ts';
import type { RescueProgram } from '../process.ts';
import { parseArguments } from './arguments.ts';

/** `flock` for a descriptor of the shell that runs it: the lock stays when the program is gone. */
const flock: RescueProgram = async (process) => {
  const { options, operands, unknown } = parseArguments(process.args.slice(1), {
    short: 'nuxse:E:w:',
    long: ['nonblock', 'unlock', 'exclusive', 'conflict-exit-code='],
    same: { nonblock: 'n', nb: 'n', unlock: 'u', exclusive: 'x', 'conflict-exit-code': 'E' },
  });
  const [number = ''] = operands;
  if (unknown !== undefined || operands.length !== 1 || !/^\d+$/.test(number))
    return await process.fail('this world locks descriptors by their number, and nothing else', 64);
  const file = process.descriptors.get(Number(number))?.file;
  if (!file) return await process.fail(`${number}: Bad file descriptor`, 65);
  if (options.has('u')) {
    unlock(file);
    return 0;
  }
  while (!tryLock(file)) {
    if (options.has('n')) return Number(options.get('E') ?? 1);
    await awaitUnlock(file, process.signal);
  }
  return 0;
};

export const lockTools: Readonly<Record<string, RescueProgram>> = { flock };
