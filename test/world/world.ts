import { mkdir } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import type { Log } from '../../src/lib/log.ts';
import { defaultAddresses } from './default-addresses.ts';
import { CallInterceptor } from './faults/call-interceptor.ts';
import { startImageFactory } from './image-factory/index.ts';
import { startKubeSimulator } from './kube/index.ts';
import { startOidc } from './oidc/index.ts';
import { operatorSimulator as operator } from './operator/index.ts';
import { startRobotSimulator } from './robot/index.ts';
import { ScaledClock } from './scaled-clock.ts';
import type { RunningSimulator, SimulatorAccess, SimulatorOptions } from './simulator.ts';
import { startTalosRunner } from './talos/index.ts';
import { realWorkload } from './talos/workload/real-workload.ts';
import { startTrueNasSimulator } from './truenas/index.ts';

export interface WorldOptions {
  /** Parent folder of the files of all simulators. */
  readonly folder: string;
  /** 1 is real time, 0.02 fifty times faster. */
  readonly timeScale: number;
  /** Use this API server as the platform cluster instead of starting one. */
  readonly kubeconfig?: string;
  /** Seeds by simulator name. */
  readonly seeds?: Readonly<Record<string, unknown>>;
  /** Release of TrueNAS, e.g. `26`. Default: the simulator's default. */
  readonly truenas?: string;
  /** Configuration of the operator, in its own format. */
  readonly operatorConfig?: string;
  /** False: the platform cluster already has an operator, so none is started. Default true. */
  readonly operator?: boolean;
  /** What runs as kube-apiserver in the created clusters: the simulator or the real program. Default: the simulator. */
  readonly workload?: 'world' | 'real';
  /** One listening address for all simulators instead of {@link defaultAddresses}. It must exist on this machine. */
  readonly host?: string;
  /**
   * Ports: `real` on the addresses of {@link defaultAddresses} where they are free, or any free port. Default: real.
   */
  readonly ports?: 'real' | 'any';
  readonly switchboard?: CallInterceptor;
  readonly log?: Log;
}

/** All simulators wired together in this process: TrueNAS and Robot switch on simulated Talos nodes. */
export async function startWorld(options: WorldOptions) {
  const clock = new ScaledClock(options.timeScale);
  const switchboard = options.switchboard ?? new CallInterceptor();
  const workload =
    options.workload === 'real' ? { workload: realWorkload({ folder: join(options.folder, 'workload') }) } : {};
  const runner = startTalosRunner({
    clock,
    switchboard,
    folder: await makeFolder(options.folder, 'talos'),
    ...workload,
  });
  const started: { close(): Promise<void> }[] = [{ close: async () => await runner.close() }];
  const simulatorOptions = async (
    name: string,
    extra: Readonly<Record<string, string>> = {},
  ): Promise<SimulatorOptions> => {
    const { host, port: usualPort } = defaultAddresses[name] ?? { host: '127.0.0.1', port: 0 };
    const home = { host: options.host ?? host, port: usualPort };
    const folder = await makeFolder(options.folder, name);
    const port = options.ports === 'any' ? 0 : await freePortOr0(home);
    const log = options.log?.child({ simulator: name });
    const seed = options.seeds?.[name];
    return { host: home.host, port, folder, seed, clock, switchboard, runner, extra, ...(log && { log }) };
  };
  const keep = <T extends RunningSimulator>(simulator: T): T => {
    started.push(simulator);
    return simulator;
  };
  const close = async (): Promise<void> => {
    for (const simulator of started.reverse()) await simulator.close();
  };
  try {
    const platform = options.kubeconfig ? undefined : keep(await startKubeSimulator(await simulatorOptions('kube')));
    const kubeconfig = options.kubeconfig ?? platform?.line.credentials['kubeconfig'] ?? '';
    const factory = keep(await startImageFactory(await simulatorOptions('image-factory')));
    const release: Record<string, string> = options.truenas === undefined ? {} : { version: options.truenas };
    const truenas = keep(await startTrueNasSimulator(await simulatorOptions('truenas', release)));
    const sshPort: Record<string, string> = options.ports === 'any' ? { 'ssh-port': 'any' } : {};
    const robot = keep(await startRobotSimulator(await simulatorOptions('robot', sshPort)));
    const oidc = keep(await startOidc(await simulatorOptions('oidc')));
    const config = options.operatorConfig ? { config: options.operatorConfig } : {};
    const operating =
      options.operator === false
        ? undefined
        : keep(await operator.start(await simulatorOptions('operator', { kubeconfig, ...config })));
    const all = [platform, factory, truenas, robot, oidc, operating];
    const simulators: RunningSimulator[] = all.filter((simulator) => simulator !== undefined);
    const lines: SimulatorAccess[] = simulators.map((simulator) => simulator.line);
    const known = { platform, factory, truenas, robot, oidc };
    return { simulators, lines, kubeconfig, ...known, machines: runner, switchboard, clock, close };
  } catch (error) {
    await close();
    throw error;
  }
}

export type RunningWorld = Awaited<ReturnType<typeof startWorld>>;

/**
 * The port of an address, or 0 (any) while it is in use, e.g. by another instance. The simulator reports an address
 * that does not exist.
 */
function freePortOr0({ host, port }: { readonly host: string; readonly port: number }): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', (error: NodeJS.ErrnoException) => resolve(error.code === 'EADDRINUSE' ? 0 : port));
    server.listen(port, host, () => server.close(() => resolve(port)));
  });
}

async function makeFolder(parent: string, name: string): Promise<string> {
  const folder = join(parent, name);
  await mkdir(folder, { recursive: true });
  return folder;
}
