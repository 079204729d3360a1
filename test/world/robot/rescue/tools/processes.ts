import { Errno, signals } from '../io/errno.ts';
import { RescueProcess, type RescueProgram } from '../process.ts';
import { parseArguments } from './arguments.ts';

const durations: Readonly<Record<string, number>> = { '': 1, s: 1, m: 60, h: 3600, d: 86_400 };

/** `1.5m` in seconds. */
function toSeconds(text: string): number | undefined {
  const [, digits, unit = ''] = /^(\d+(?:\.\d*)?|\.\d+)([smhd]?)$/.exec(text) ?? [];
  return digits === undefined ? undefined : Number(digits) * (durations[unit] ?? 1);
}

const sleep: RescueProgram = async (process) => {
  const parts = process.args.slice(1).map(toSeconds);
  if (parts.length === 0) return await process.fail('missing operand');
  const bad = parts.indexOf(undefined);
  if (bad >= 0) return await process.fail(`invalid time interval \u2018${process.args[bad + 1]}\u2019`);
  await process.sleep(parts.reduce((sum: number, one) => sum + (one ?? 0), 0));
  return 0;
};

/** Another program in place of this one. */
async function become(
  process: RescueProcess,
  args: readonly string[],
  environment = process.environment,
): Promise<number> {
  const { system, descriptors, cwd, signal } = process;
  const found = system.lookUp(args[0] ?? '', cwd);
  if (found instanceof Errno) {
    const shown = process.name === 'env' ? `\u2018${args[0]}\u2019` : `failed to run command \u2018${args[0]}\u2019`;
    return await process.fail(`${shown}: ${found.message}`, found.code === 'ENOENT' ? 127 : 126);
  }
  return await system.execute(new RescueProcess({ system, args, environment, descriptors, cwd, signal }), found);
}

const env: RescueProgram = async (process) => {
  const environment = new Map(process.environment);
  const rest = process.args.slice(1);
  for (;;) {
    const [word = ''] = rest;
    if (word === '-i' || word === '-') environment.clear();
    else if (word === '-u') {
      rest.shift();
      environment.delete(rest[0] ?? '');
    } else if (/^[^=]+=/.test(word)) {
      const at = word.indexOf('=');
      environment.set(word.slice(0, at), word.slice(at + 1));
    } else break;
    rest.shift();
  }
  if (rest.length > 0) return await become(process, rest, environment);
  await process.out([...environment].map(([name, value]) => `${name}=${value}\n`).join(''));
  return 0;
};

const printenv: RescueProgram = async (process) => {
  const [name] = process.args.slice(1);
  if (name === undefined) return await env(process);
  const value = process.environment.get(name);
  if (value === undefined) return 1;
  await process.out(`${value}\n`);
  return 0;
};

const timeout: RescueProgram = async (process) => {
  const { options, operands } = parseArguments(process.args.slice(1), {
    short: 's:k:v',
    long: ['signal=', 'kill-after=', 'preserve-status', 'foreground'],
    same: { signal: 's' },
    strict: true,
  });
  const [duration = '', ...command] = operands;
  const seconds = toSeconds(duration);
  if (seconds === undefined) return await process.fail(`invalid time interval \u2018${duration}\u2019`, 125);
  const child = process.with(command);
  const watch = new AbortController();
  let isOver = false;
  const named = (options.get('s') ?? 'TERM').replace(/^SIG/, '');
  const signal = /^\d+$/.test(named) ? Number(named) : (signals[named as keyof typeof signals] ?? signals.TERM);
  process.system.clock.sleep(seconds, AbortSignal.any([watch.signal, process.signal])).then(
    () => {
      isOver = seconds > 0;
      if (isOver) child.kill(signal);
    },
    () => undefined,
  );
  try {
    const found = process.system.lookUp(command[0] ?? '', process.cwd);
    if (found instanceof Errno)
      return await process.fail(
        `failed to run command \u2018${command[0]}\u2019: ${found.message}`,
        found.code === 'ENOENT' ? 127 : 126,
      );
    const status = await process.system.execute(child, found);
    return isOver ? (signal === signals.KILL ? 137 : options.has('preserve-status') ? status : 124) : status;
  } finally {
    watch.abort();
  }
};

/** Away from the session of whoever started it. What runs here belongs to no session anyway. */
const setsid: RescueProgram = async (process) => {
  const command = process.args
    .slice(1)
    .filter((arg, index) => index > 0 || !/^-[cfw]+$|^--(?:fork|wait|ctty)$/.test(arg));
  return await become(process, command);
};

const nohup: RescueProgram = async (process) => await become(process, process.args.slice(1));

const stdbuf: RescueProgram = async (process) =>
  await become(
    process,
    process.args.slice(1).filter((arg, index, all) => !/^-[ioe]/.test(arg) && !/^-[ioe]$/.test(all[index - 1] ?? '')),
  );

const xargs: RescueProgram = async (process) => {
  const { options, operands } = parseArguments(process.args.slice(1), { short: '0rn:I:', strict: true });
  const input = (await process.readAll()).toString('latin1');
  const words = (
    options.has('0') ? input.split('\0') : options.has('I') ? input.split('\n') : input.split(/\s+/)
  ).filter(Boolean);
  if (words.length === 0 && options.has('r')) return 0;
  const max = options.has('I') ? 1 : Number(options.get('n') ?? Math.max(1, words.length));
  let status = 0;
  for (let at = 0; at < Math.max(1, words.length); at += max) {
    const batch = words.slice(at, at + max);
    const mark = options.get('I');
    const command = operands.length > 0 ? [...operands] : ['echo'];
    const args = mark ? command.map((word) => word.replaceAll(mark, batch[0] ?? '')) : [...command, ...batch];
    if ((await become(process, args)) !== 0) status = 123;
  }
  return status;
};

const date: RescueProgram = async (process) => {
  const format = process.args.slice(1).find((arg) => arg.startsWith('+'));
  const now = new Date();
  const iso = now.toISOString();
  const parts: Readonly<Record<string, string>> = {
    s: String(Math.floor(now.getTime() / 1000)),
    N: `${String(now.getTime() % 1000).padStart(3, '0')}000000`,
    Y: iso.slice(0, 4),
    m: iso.slice(5, 7),
    d: iso.slice(8, 10),
    H: iso.slice(11, 13),
    M: iso.slice(14, 16),
    S: iso.slice(17, 19),
    F: iso.slice(0, 10),
    T: iso.slice(11, 19),
    Z: 'UTC',
  };
  await process.out(
    `${format ? format.slice(1).replace(/%(.)/g, (all, letter: string) => parts[letter] ?? all) : now.toUTCString()}\n`,
  );
  return 0;
};

/** `kill` as a program knows no jobs: nobody outside a shell is reachable here. */
const kill: RescueProgram = async (process) => {
  const ids = process.args.slice(1).filter((arg) => /^\d+$/.test(arg));
  for (const id of ids) await process.fail(`(${id}): No such process`);
  return 1;
};

const say =
  (text: (process: RescueProcess) => string): RescueProgram =>
  async (process) => {
    await process.out(`${text(process)}\n`);
    return 0;
  };

export const processTools: Readonly<Record<string, RescueProgram>> = {
  ...{ sleep, env, printenv, timeout, nohup, setsid, stdbuf, xargs, date, kill },
  pwd: say((process) => process.cwd),
  whoami: say(() => 'root'),
  tty: async (process) => {
    await process.out('not a tty\n');
    return 1;
  },
  id: say((process) => (process.args.includes('-u') ? '0' : 'uid=0(root) gid=0(root) groups=0(root)')),
};
