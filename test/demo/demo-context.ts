import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { CallInterceptor, retainedCallCount } from '../world/faults/call-interceptor.ts';
import { type RunningWorld, startWorld } from '../world/world.ts';
import { ClusterSession } from './cluster-session.ts';
import type { DemoScenario } from './demo-scenario.ts';
import { demoFolder, lockFolder, unlockFolder } from './folder.ts';
import { type ResourceSnapshot, snapshotResources } from './leftovers.ts';
import type { Screen } from './output/screen.ts';
import { ProviderProgram } from './program.ts';
import { DemoFailed, waitForResult } from './wait-for-result.ts';

/** Namespace of the provider, as under the openMCP operator. */
export const providerNamespace = 'openmcp-system';
/** Fifty times faster than real time: minutes take seconds here, and nothing is skipped. */
const timeScale = 0.02;
/** The waits of the program are shorter as well, such as those between two looks at a node that restarts. */
const programSpeed = 3;
const flags = ['--environment=demo', '--provider-name=talos', '--verbosity=INFO'];

/** The state of a running demo. */
export interface DemoContext {
  readonly world: RunningWorld;
  readonly session: ClusterSession;
  readonly program: ProviderProgram;
  /** The URL of its status page. */
  readonly statusPage: string;
  /** The resources on the NAS and the servers before the demo created anything. */
  readonly before: ResourceSnapshot;
  readonly story: DemoScenario;
  /** Milestones that have been printed. */
  readonly told: Set<string>;
  readonly screen: Screen;
}

/** Cleanup functions, called in reverse order. */
export type CleanupStack = (() => Promise<unknown>)[];

/**
 * Starts the simulators and the program. Everything that was started is added to `closers`, also when a later part
 * fails.
 */
export async function startDemo(
  platformKubeconfig: string | undefined,
  story: DemoScenario,
  screen: Screen,
  closers: CleanupStack,
): Promise<DemoContext> {
  await lockFolder();
  closers.push(unlockFolder);
  screen.chapter(story.opening);
  const kubeconfig = platformKubeconfig ? { kubeconfig: platformKubeconfig } : {};
  const switchboard = new CallInterceptor({ kept: retainedCallCount });
  const { seeds } = story;
  const world = await startWorld({ folder: join(demoFolder, 'world'), timeScale, switchboard, seeds, ...kubeconfig });
  closers.push(() => world.close());
  for (const line of world.lines) screen.step(`${line.simulator.padEnd(14)} ${line.url}`);
  const lines = world.lines.map((line) => `${JSON.stringify(line)}\n`).join('');
  await writeFile(join(demoFolder, 'world.json'), lines, { mode: 0o600 });
  const platform = join(demoFolder, 'platform.kubeconfig');
  await writeFile(platform, await readFile(world.kubeconfig, 'utf8'), { mode: 0o600 });
  const session = await ClusterSession.fromFile(platform);
  closers.push(() => session.close());
  const before = snapshotResources(world);
  const program = await startProgram(platform, screen);
  closers.push(() => program.stop());
  const statusPage = await awaitStatusPage(program);
  screen.step(`its status page is at ${statusPage}`);
  return { world, session, program, statusPage, before, story, told: new Set(), screen };
}

async function startProgram(kubeconfig: string, screen: Screen): Promise<ProviderProgram> {
  screen.chapter('The program: init, then run, as the openMCP operator starts them');
  const environment = { POD_NAMESPACE: providerNamespace };
  const common = [...flags, `--kubeconfig=${kubeconfig}`];
  const init = new ProviderProgram(['init', ...common], environment, join(demoFolder, 'init.log'));
  if ((await init.exited) !== 0) throw new DemoFailed(`init failed:\n${await init.tail()}`);
  screen.step('init has installed the CRDs and ended');
  const serving = [
    '--metrics-bind-address=0',
    '--health-probe-bind-address=127.0.0.1:0',
    '--status-bind-address=127.0.0.1:0',
  ];
  const log = join(demoFolder, 'run.log');
  const program = new ProviderProgram(['run', ...common, ...serving], environment, log, {
    speed: programSpeed,
    isRevived: true,
  });
  screen.step(`run works; its log is ${log}`);
  return program;
}

/** The program chooses a free port, and logs it. */
const awaitStatusPage = (program: ProviderProgram): Promise<string> =>
  waitForResult(
    'The status page',
    60,
    async () => {
      const lines = (await program.tail(100)).split('\n');
      const line = lines.findLast((one) => one.includes('serving the status page'));
      return /http:[\w.:/]+/.exec(line ?? '')?.[0];
    },
    async () => (program.isRunning ? undefined : `run has ended by itself:\n${await program.tail()}`),
  );
