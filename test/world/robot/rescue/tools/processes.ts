import { Errno, signals } from '../io/errno.ts';
import type { RescueProcess, RescueProgram } from '../process.ts';
import { parseArguments } from './arguments.ts';

const sleep: RescueProgram = async (process) => {
  const [word = ''] = parseArguments(process, {}).operands;
  const seconds = Number(word);
  if (word === '' || Number.isNaN(seconds)) return await process.fail(`invalid time interval '${word}'`);
  await process.sleep(seconds);
  return 0;
};

/** Runs another program in the process `child`. */
async function become(process: RescueProcess, child: RescueProcess): Promise<number> {
  const found = process.system.lookUp(child.args[0] ?? '', process.cwd);
  if (!(found instanceof Errno)) return await process.system.execute(child, found);
  const status = found.code === 'ENOENT' ? 127 : 126;
  return await process.fail(`failed to run command '${child.args[0]}': ${found.message}`, status);
}

/** `timeout -k GRACE SECONDS COMMAND`. Simulated programs end with the first signal, so that `-k` has no effect. */
const timeout: RescueProgram = async (process) => {
  const { operands } = parseArguments(process, { short: 'k:', strict: true });
  const [duration = '', ...command] = operands;
  const child = process.with(command);
  const watch = new AbortController();
  let isOver = false;
  process.system.clock.sleep(Number(duration), AbortSignal.any([watch.signal, process.signal])).then(
    () => {
      isOver = true;
      child.kill(signals.TERM);
    },
    () => undefined,
  );
  try {
    const status = await become(process, child);
    return isOver ? 124 : status;
  } finally {
    watch.abort();
  }
};

/** A session of its own. Simulated processes belong to no session anyway. */
const setsid: RescueProgram = async (process) =>
  await become(process, process.with(parseArguments(process, { strict: true }).operands));

export const processTools: Readonly<Record<string, RescueProgram>> = { sleep, timeout, setsid };
