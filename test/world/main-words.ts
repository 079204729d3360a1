import type { Room } from './room.ts';

/** What the command line of `npm run world` asks for. */
export interface WorldWords {
  /** Undefined: all of them. */
  readonly room: string | undefined;
  readonly listen: { readonly host: string; readonly port: number };
  readonly seed: string | undefined;
  readonly folder: string | undefined;
  readonly timeScale: number;
  /** Flags that only the room knows. */
  readonly extra: Readonly<Record<string, string>>;
}

export const usage = (rooms: readonly Room[]): string => `npm run --silent world [-- ROOM] [FLAGS]

Servers that speak like the real ones, keep state, and can be told to fail. Without a room: all of them together.
Once it listens, each room prints one line of JSON: where it is, and what a client needs. It runs until SIGTERM.

${rooms.map((room) => `  ${room.name.padEnd(15)} ${room.about}`).join('\n')}

  --listen HOST:PORT   where the room listens; port 0 is any (default 127.0.0.1:0)
  --seed FILE          YAML: the state to begin with
  --folder FOLDER      where it keeps files (default: a temporary folder)
  --time-scale NUMBER  1 is real time, 0.02 fifty times faster (default 1)
  --NAME VALUE         a flag of the room's own, e.g. --version 25.10
`;

/** Reads the words. Throws an Error with a sentence. */
export function readWords(argv: readonly string[]): WorldWords | 'help' {
  const flags: Record<string, string> = {};
  let room: string | undefined;
  for (let i = 0; i < argv.length; i += 1) {
    const word = argv[i] ?? '';
    if (word === '--help' || word === '-h') return 'help';
    if (!word.startsWith('--')) {
      if (room !== undefined) throw new Error(`One room at a time: ${room} or ${word}?`);
      room = word;
      continue;
    }
    const [name = '', ...rest] = word.slice(2).split('=');
    const value = rest.length > 0 ? rest.join('=') : argv[++i];
    if (value === undefined) throw new Error(`--${name} needs a value.`);
    flags[name] = value;
  }
  const { listen = '127.0.0.1:0', seed, folder, 'time-scale': scale = '1', ...extra } = flags;
  return { room, listen: readListen(listen), seed, folder, timeScale: readScale(scale), extra };
}

function readListen(text: string): { host: string; port: number } {
  const match = /^(?<host>[^:]+|\[.+\]):(?<port>[0-9]{1,5})$/.exec(text);
  const port = Number(match?.groups?.['port']);
  if (!match?.groups?.['host'] || port > 65535) throw new Error(`--listen: ${text} is not HOST:PORT.`);
  return { host: match.groups['host'], port };
}

function readScale(text: string): number {
  const scale = Number(text);
  if (!Number.isFinite(scale) || scale <= 0) throw new Error(`--time-scale: ${text} is not a number above 0.`);
  return scale;
}
