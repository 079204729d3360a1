import { awaitUnlock, tryLock } from '../io/file-locks.ts';
import type { RescueProgram } from '../process.ts';
import { parseArguments } from './arguments.ts';

/** `flock` for a descriptor of the shell that runs it: the lock stays when the program is gone. */
const flock: RescueProgram = async (process) => {
  const { options, operands } = parseArguments(process, { short: 'n' });
  const [number = ''] = operands;
  if (operands.length !== 1 || !/^\d+$/.test(number))
    return await process.fail('only a lock of a descriptor is simulated', 64);
  const file = process.descriptors.get(Number(number))?.file;
  if (!file) return await process.fail(`${number}: Bad file descriptor`, 65);
  while (!tryLock(file)) {
    if (options.has('n')) return 1;
    await awaitUnlock(file, process.signal);
  }
  return 0;
};

export const lockTools: Readonly<Record<string, RescueProgram>> = { flock };
