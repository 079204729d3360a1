import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'yaml';
import { createLog } from '../../src/commands/log.ts';
import { WorldClock } from './clock.ts';
import { readWords, usage, type WorldWords } from './main-words.ts';
import type { RoomLine } from './room.ts';
import { rooms } from './rooms.ts';
import { Switchboard } from './switchboard.ts';
import { talosRunner } from './talos/index.ts';
import { startWorld } from './world.ts';

const log = createLog({ verbosity: 'info', format: 'text', timestamps: true, stacks: true }, process.stderr);

/** `npm run world`: one room, or all of them, until SIGTERM. One line of JSON for each room goes to standard output. */
async function main(): Promise<void> {
  const words = readWords(process.argv.slice(2));
  if (words === 'help') {
    process.stdout.write(usage(rooms));
    return;
  }
  // Before anything is said: whoever reads the line may stop us at once.
  const stopped = untilStopped();
  const folder = words.folder ?? (await mkdtemp(join(tmpdir(), 'world-')));
  try {
    const { room } = words;
    const running = room === undefined ? await startAll(words, folder) : await startOne(room, words, folder);
    for (const line of running.lines) process.stdout.write(`${JSON.stringify(line)}\n`);
    await stopped;
    await running.close();
  } finally {
    if (words.folder === undefined) await rm(folder, { recursive: true, force: true });
  }
}

interface Running {
  readonly lines: readonly RoomLine[];
  close(): Promise<void>;
}

async function startAll(words: WorldWords, folder: string): Promise<Running> {
  const seeds = (await readSeed(words.seed)) as Record<string, unknown> | undefined;
  return await startWorld({ folder, timeScale: words.timeScale, log, ...(seeds ? { seeds } : {}) });
}

async function startOne(name: string, words: WorldWords, folder: string): Promise<Running> {
  const room = rooms.find((candidate) => candidate.name === name);
  if (!room)
    throw new Error(`There is no room ${name}. There are: ${rooms.map((candidate) => candidate.name).join(', ')}.`);
  const clock = new WorldClock(words.timeScale);
  const switchboard = new Switchboard();
  const runner = talosRunner({ clock, switchboard, folder });
  const { host, port } = words.listen;
  const seed = await readSeed(words.seed);
  const running = await room.start({ host, port, folder, seed, clock, switchboard, runner, log, extra: words.extra });
  const close = async (): Promise<void> => {
    await running.close();
    await runner.close();
  };
  return { lines: [running.line], close };
}

const readSeed = async (path: string | undefined): Promise<unknown> =>
  path ? parse(await readFile(path, 'utf8')) : undefined;

/** Resolves with the first SIGTERM or SIGINT; a second one ends the process at once. */
function untilStopped(): Promise<void> {
  return new Promise((resolve) => {
    let asked = false;
    for (const signal of ['SIGTERM', 'SIGINT'] as const) {
      process.on(signal, () => {
        if (asked) process.exit(1);
        asked = true;
        resolve();
      });
    }
    // A room that only has clients of its own would otherwise let the process end.
    setInterval(() => {}, 60_000);
  });
}

try {
  await main();
  process.exit(0);
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exit(1);
}
