import { rmSync } from 'node:fs';
import { mkdir, mkdtemp, readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { parse } from 'yaml';
import { createLog } from '../../src/commands/create-log.ts';
import { parseWorldArguments, type WorldArguments, WorldUsageError, worldUsage } from './command-line.ts';
import { type CommandTargets, executeCommand, parseFaultFile, planFault } from './control-commands.ts';
import { CallInterceptor, retainedCallCount } from './faults/call-interceptor.ts';
import type { MachineRunner } from './machine-runner/machine.ts';
import { ScaledClock } from './scaled-clock.ts';
import type { RunningSimulator, Simulator } from './simulator.ts';
import { simulators } from './simulators.ts';

const log = createLog({ verbosity: 'info', format: 'text', timestamps: true, stacks: true }, process.stderr);
const exitCodes = { done: 0, failed: 1, usage: 2 } as const;

/**
 * `npm run world`: one simulator, or all of them, until SIGTERM. Each simulator writes one line of JSON to standard
 * output.
 */
async function main(): Promise<void> {
  const words = parseWorldArguments(process.argv.slice(2), simulators);
  if (words === 'help') {
    process.stdout.write(worldUsage(simulators));
    return;
  }
  // Before the first output: the reader of the line may stop this process at once.
  const stopped = awaitTermination();
  const folder = words.folder ?? (await mkdtemp(join(tmpdir(), 'world-')));
  // The last step: anything that still runs no longer writes.
  if (words.folder === undefined) process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
  await mkdir(folder, { recursive: true });
  const running: RunningSimulator[] = [];
  await Promise.race([stopped, run(words, folder, running)]);
  await Promise.race([closeAll(running), delay(closeTimeoutMilliseconds)]);
}

/** The caller waits for the exit: anything not closed by then ends with the process. */
const closeTimeoutMilliseconds = 3000;

async function closeAll(running: readonly RunningSimulator[]): Promise<void> {
  for (const simulator of [...running].reverse()) await simulator.close();
}

async function run(words: WorldArguments, folder: string, running: RunningSimulator[]): Promise<never> {
  const seed = await readYaml('seed', words.seed);
  const faults = words.faults === undefined ? [] : parseFaultFile(await readYaml('faults', words.faults));
  const switchboard = new CallInterceptor({ kept: retainedCallCount });
  const names = words.simulator ? [words.simulator] : simulators;
  for (const fault of faults)
    planFault(fault, { switchboard, simulators: names.map(({ name }) => ({ line: { simulator: name } })) });
  const say = (simulator: RunningSimulator): void => {
    running.push(simulator);
    process.stdout.write(`${JSON.stringify(simulator.line)}\n`);
  };
  readControlCommands({ switchboard, simulators: running });
  if (words.simulator) say(await startSimulator(words.simulator, words, { folder, seed, switchboard }));
  else await startAllSimulators(words, { folder, seed, switchboard }, say);
  return await new Promise<never>(() => {});
}

interface StartOptions {
  readonly folder: string;
  readonly seed: unknown;
  readonly switchboard: CallInterceptor;
}

/** All simulators. */
async function startAllSimulators(
  words: WorldArguments,
  ground: StartOptions,
  say: (simulator: RunningSimulator) => void,
): Promise<void> {
  const { folder, switchboard } = ground;
  const seeds = (ground.seed ?? {}) as Record<string, unknown>;
  const foreign = Object.keys(seeds).find((name) => simulators.every((simulator) => simulator.name !== name));
  if (foreign !== undefined) throw new WorldUsageError(`--seed: there is no simulator ${foreign}.`);
  const { startWorld } = await import('./world.ts');
  const world = await startWorld({ folder, timeScale: words.timeScale, log, seeds, switchboard });
  for (const simulator of world.simulators) say(simulator);
}

async function startSimulator(
  simulator: Simulator,
  words: WorldArguments,
  { folder, seed, switchboard }: StartOptions,
): Promise<RunningSimulator> {
  const clock = new ScaledClock(words.timeScale);
  const runner = simulator.hasMachines
    ? (await import('./talos/index.ts')).startTalosRunner({ clock, switchboard, folder })
    : noMachines;
  const { host, port } = words.listen;
  return await simulator.start({ host, port, folder, seed, clock, switchboard, runner, log, extra: words.extra });
}

const noMachines: MachineRunner = {
  start: () => {
    throw new Error('this simulator has no machines');
  },
};

async function readYaml(flag: string, path: string | undefined): Promise<unknown> {
  if (path === undefined) return undefined;
  try {
    return parse(await readFile(path, 'utf8'));
  } catch (error) {
    throw new WorldUsageError(`--${flag}: ${messageOf(error)}`);
  }
}

/** Commands arrive on standard input. Its end does not stop the simulators. */
function readControlCommands(subjects: CommandTargets): void {
  // A terminal: reading it in the background would stop this process.
  if (process.stdin.isTTY) return;
  createInterface({ input: process.stdin }).on('line', (line) => {
    if (line.trim() === '') return;
    executeCommand(line, subjects).then(
      () => log.info({ order: line }, 'carried out'),
      (error: unknown) => log.error({ order: line, reason: messageOf(error) }, 'order refused'),
    );
  });
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** Resolves with the first SIGTERM or SIGINT. */
function awaitTermination(): Promise<void> {
  return new Promise((resolve) => {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, resolve);
    // A simulator that only has clients of its own would otherwise let the process exit.
    setInterval(() => {}, 60_000);
  });
}

try {
  await main();
  process.exit(exitCodes.done);
} catch (error) {
  process.stderr.write(`${messageOf(error)}\n`);
  // Simulators refuse a seed or a flag with a RangeError.
  process.exit(error instanceof WorldUsageError || error instanceof RangeError ? exitCodes.usage : exitCodes.failed);
}
