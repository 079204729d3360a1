import { execFileSync } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { request } from 'undici';
import { deadlineSignal } from '../../src/lib/deadline.ts';
import { noLog } from '../../src/lib/log.ts';
import { ClusterSession } from '../demo/cluster-session.ts';
import { ProviderProgram } from '../demo/program.ts';
import { freePort } from '../peers/peer-process.ts';
import { installOpenmcpKinds } from '../world/operator/install-openmcp.ts';
import { startTestPlatformCluster } from '../world/operator/platform-cluster-fixture.ts';
import { type Benchmark, type Measurement, median } from './measurement.ts';
import { residentMiB } from './process-stats.ts';

const schedule = 5;
const commandFlags = ['--environment=bench', '--provider-name=talos'];
const environment = { POD_NAMESPACE: 'openmcp-system', POD_NAME: 'bench' };

/** From the start of the process to the first 200 of /readyz, in seconds, and its memory a while later, in MiB. */
async function measureStartup(kubeconfig: string, log: string): Promise<{ seconds: number; memory: number }> {
  const end = performance.now() + 60_000;
  const probes = `127.0.0.1:${await freePort('127.0.0.1')}`;
  const startedAt = performance.now();
  const program = new ProviderProgram(
    ['run', ...commandFlags, `--kubeconfig=${kubeconfig}`, `--health-probe-bind-address=${probes}`],
    environment,
    log,
  );
  try {
    while (!(await isReadyzOk(probes))) {
      if (!program.isRunning || performance.now() > end)
        throw new Error(`run is not ready after a minute, or has ended:\n${await program.tail()}`);
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    const seconds = (performance.now() - startedAt) / 1000;
    await new Promise((resolve) => setTimeout(resolve, 2000));
    return { seconds, memory: await residentMiB(program.pid) };
  } finally {
    await program.stop();
  }
}

async function isReadyzOk(probes: string): Promise<boolean> {
  try {
    const { statusCode, body } = await request(`http://${probes}/readyz`, { signal: AbortSignal.timeout(1000) });
    await body.dump();
    return statusCode === 200;
  } catch {
    // The server does not listen yet: the measurement waits for that.
    return false;
  }
}

interface Lockfile {
  readonly packages: Record<string, { dev?: boolean; devOptional?: boolean; optional?: boolean }>;
}

/** Packages that the installed program consists of. */
async function runtimePackages(): Promise<string[]> {
  const { packages } = JSON.parse(await readFile('package-lock.json', 'utf8')) as Lockfile;
  return Object.entries(packages)
    .filter(([path, { dev, devOptional, optional }]) => path !== '' && !dev && !devOptional && !optional)
    .map(([path]) => path);
}

function sizeMiB(paths: readonly string[]): number {
  const total = execFileSync('du', ['-sck', ...paths], { encoding: 'utf8', maxBuffer: 1 << 24 });
  return Number(/([0-9]+)\s+total\s*$/.exec(total)?.[1] ?? 0) / 1024;
}

/** The openMCP kinds and the namespace, as the operator creates them. */
async function installOpenmcp(kubeconfig: string): Promise<void> {
  const { client } = await ClusterSession.fromFile(kubeconfig);
  await installOpenmcpKinds(client, noLog, deadlineSignal(60));
  await client.close();
}

export const startupBenchmark: Benchmark = {
  name: 'The process',
  async measure(say) {
    const folder = await mkdtemp(join(tmpdir(), 'bench-'));
    const platform = await startTestPlatformCluster();
    const lives: { seconds: number; memory: number }[] = [];
    try {
      const log = join(folder, 'log');
      await installOpenmcp(platform.kubeconfig);
      const init = new ProviderProgram(
        ['init', ...commandFlags, `--kubeconfig=${platform.kubeconfig}`],
        environment,
        log,
      );
      if ((await init.exited) !== 0) throw new Error(`init failed:\n${await init.tail()}`);
      for (let round = 0; round < schedule; round += 1) {
        lives.push(await measureStartup(platform.kubeconfig, log));
        say(`start ${round + 1} of ${schedule}: ${lives.at(-1)?.seconds.toFixed(2)} s`);
      }
    } finally {
      await platform.close();
      await rm(folder, { recursive: true, force: true });
    }
    const seconds = median(lives.map((one) => one.seconds));
    const memory = median(lives.map((one) => one.memory));
    const packages = await runtimePackages();
    const figures: Measurement[] = [
      {
        what: '`run` from its start to ready on an empty platform',
        measured: `${seconds.toFixed(2)} s, median of ${schedule}`,
        goal: '< 1.5 s',
        reached: seconds < 1.5,
      },
      { what: 'Resident memory while idle', measured: `${memory.toFixed(0)} MiB`, goal: '' },
      {
        what: 'Runtime packages',
        measured: `${packages.length}`,
        goal: '< 170',
        reached: packages.length < 170,
      },
      { what: 'Size of what is shipped', measured: `${sizeMiB(['dist']).toFixed(1)} MiB`, goal: '' },
    ];
    return figures;
  },
};
