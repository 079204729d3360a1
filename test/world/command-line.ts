import type { Simulator } from './simulator.ts';

/** The parsed command line of `npm run world`. */
export interface WorldArguments {
  /** Undefined: all simulators. */
  readonly simulator: Simulator | undefined;
  readonly listen: { readonly host: string; readonly port: number };
  readonly seed: string | undefined;
  readonly faults: string | undefined;
  readonly folder: string | undefined;
  readonly timeScale: number;
  /** Flags of one simulator. */
  readonly extra: Readonly<Record<string, string>>;
}

/** The arguments are invalid. The message is a sentence for the user. */
export class WorldUsageError extends Error {
  override readonly name = 'UsageError';
}

export const worldUsage = (simulators: readonly Simulator[]): string => `npm run --silent world [-- SIMULATOR] [FLAGS]

Servers that speak like the real ones, keep state, and can be told to fail. Without a simulator: all of them together.
Once it listens, each simulator prints one line of JSON: where it is, and what a client needs. It runs until SIGTERM.

${simulators.map((simulator) => `  ${simulator.name.padEnd(15)} ${simulator.about}`).join('\n')}

  --listen HOST:PORT   where one simulator listens; port 0 is any (default 127.0.0.1:0)
  --seed FILE          YAML: the state to begin with; for all simulators, a map by simulator
  --faults FILE        YAML: a list of faults as below
  --folder FOLDER      where it keeps files (default: a temporary folder, gone at the end)
  --time-scale NUMBER  1 is real time, 0.02 fifty times faster (default 1)

While it runs, each line of standard input is an order, in JSON:

  {"simulator":"truenas","fail":"^vm\\\\.create$","with":"lose-reply"}
      also: drop, late (milliseconds), error (status, code, body, headers); "times" calls get it, after "skip" others
      cut: so many "bytes" "of" the "answer" or "request" come through, then nothing for "milliseconds", then the end
  {"clear":true}
      forgets the faults that nobody has met
  {"restart":"truenas"}
      connections end, the state stays
`;

const commonFlags = ['listen', 'seed', 'faults', 'folder', 'time-scale'];

/** Parses the arguments. Throws a {@link WorldUsageError}. */
export function parseWorldArguments(
  argv: readonly string[],
  simulators: readonly Simulator[],
): WorldArguments | 'help' {
  const { names, flags } = splitArguments(argv);
  if (flags === 'help') return 'help';
  if (names.length > 1) throw new WorldUsageError(`One simulator at a time: ${names.join(' or ')}?`);
  const simulator = simulators.find(({ name }) => name === names[0]);
  if (!simulator && names.length > 0) {
    throw new WorldUsageError(
      `There is no simulator ${names[0]}. There are: ${simulators.map(({ name }) => name).join(', ')}.`,
    );
  }
  const known = [...commonFlags, ...(simulator?.flags ?? [])];
  const foreign = Object.keys(flags).find((name) => !known.includes(name));
  if (foreign !== undefined) {
    throw new WorldUsageError(`There is no flag --${foreign}${simulator ? ` for ${simulator.name}` : ''}. Ask --help.`);
  }
  if (!simulator && flags['listen'] !== undefined) throw new WorldUsageError('--listen is for one simulator: name it.');
  const { listen = '127.0.0.1:0', seed, faults, folder, 'time-scale': scale = '1', ...extra } = flags;
  return {
    simulator,
    listen: parseListenAddress(listen),
    seed,
    faults,
    folder,
    timeScale: parseTimeScale(scale),
    extra,
  };
}

function splitArguments(argv: readonly string[]): { names: string[]; flags: Record<string, string> | 'help' } {
  const flags: Record<string, string> = {};
  const names: string[] = [];
  for (let i = 0; i < argv.length; i += 1) {
    const word = argv[i] ?? '';
    if (word === '--help' || word === '-h') return { names, flags: 'help' };
    if (!word.startsWith('-')) {
      names.push(word);
      continue;
    }
    const [name = '', ...rest] = word.replace(/^--?/, '').split('=');
    const value = rest.length > 0 ? rest.join('=') : argv[++i];
    if (value === undefined) throw new WorldUsageError(`--${name} needs a value.`);
    if (name in flags) throw new WorldUsageError(`--${name} is there twice.`);
    flags[name] = value;
  }
  return { names, flags };
}

function parseListenAddress(text: string): { host: string; port: number } {
  const match = /^(?<host>[^:]+):(?<port>[0-9]{1,5})$/.exec(text);
  const port = Number(match?.groups?.['port']);
  if (!match?.groups?.['host'] || port > 65535)
    throw new WorldUsageError(`--listen: ${text} is not HOST:PORT, with a name or an IPv4 address.`);
  return { host: match.groups['host'], port };
}

function parseTimeScale(text: string): number {
  const scale = Number(text);
  if (!Number.isFinite(scale) || scale <= 0)
    throw new WorldUsageError(`--time-scale: ${text} is not a number above 0.`);
  return scale;
}
