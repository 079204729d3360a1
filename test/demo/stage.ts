import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { keptCalls, Switchboard } from '../world/switchboard.ts';
import { type RunningWorld, startWorld } from '../world/world.ts';
import { folder, leaveFolder, takeFolder } from './folder.ts';
import { Program } from './program.ts';
import { countWorld, type WorldCount } from './proof.ts';
import type { Screen } from './screen.ts';
import { Session } from './session.ts';
import type { Story } from './story.ts';
import { DemoFailed } from './wait.ts';

/** Namespace of the provider, as under the openMCP operator. */
export const namespace = 'openmcp-system';
/** Fifty times faster than life: what takes minutes there takes seconds here, and nothing is left out. */
const timeScale = 0.02;
const flags = ['--environment=demo', '--provider-name=talos', '--verbosity=INFO'];

/** All that the demo plays with. */
export interface Stage {
  readonly world: RunningWorld;
  readonly session: Session;
  readonly program: Program;
  /** The NAS and the servers before anything was asked for. */
  readonly before: WorldCount;
  readonly story: Story;
  /** Moments of the story that were told. */
  readonly told: Set<string>;
  readonly screen: Screen;
}

/** Ends what was started, last first. */
export type Closers = (() => Promise<unknown>)[];

/** Builds the world and starts the program in it. What was started is put on `closers`, also when the rest fails. */
export async function startStage(
  platformKubeconfig: string | undefined,
  story: Story,
  screen: Screen,
  closers: Closers,
): Promise<Stage> {
  await takeFolder();
  closers.push(leaveFolder);
  screen.chapter(story.opening);
  const kubeconfig = platformKubeconfig ? { kubeconfig: platformKubeconfig } : {};
  const switchboard = new Switchboard({ kept: keptCalls });
  const { seeds } = story;
  const world = await startWorld({ folder: join(folder, 'world'), timeScale, switchboard, seeds, ...kubeconfig });
  closers.push(() => world.close());
  for (const line of world.lines) screen.step(`${line.room.padEnd(14)} ${line.url}`);
  const lines = world.lines.map((line) => `${JSON.stringify(line)}\n`).join('');
  await writeFile(join(folder, 'world.json'), lines, { mode: 0o600 });
  const platform = join(folder, 'platform.kubeconfig');
  await writeFile(platform, await readFile(world.kubeconfig, 'utf8'), { mode: 0o600 });
  const session = await Session.fromFile(platform);
  closers.push(() => session.close());
  const before = countWorld(world);
  const program = await startProgram(platform, screen);
  closers.push(() => program.stop());
  return { world, session, program, before, story, told: new Set(), screen };
}

async function startProgram(kubeconfig: string, screen: Screen): Promise<Program> {
  screen.chapter('The program: init, then run, as the openMCP operator starts them');
  const environment = { POD_NAMESPACE: namespace };
  const common = [...flags, `--kubeconfig=${kubeconfig}`];
  const init = new Program(['init', ...common], environment, join(folder, 'init.log'));
  if ((await init.exited) !== 0) throw new DemoFailed(`init failed:\n${await init.tail()}`);
  screen.step('init has installed the CRDs and ended');
  const serving = ['--metrics-bind-address=0', '--health-probe-bind-address=127.0.0.1:0'];
  const program = new Program(['run', ...common, ...serving], environment, join(folder, 'run.log'));
  screen.step(`run works; its log is ${join(folder, 'run.log')}`);
  return program;
}
