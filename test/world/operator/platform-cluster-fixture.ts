import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CallInterceptor } from '../faults/call-interceptor.ts';
import { kubeSimulator as kube } from '../kube/index.ts';
import type { MachineRunner } from '../machine-runner/machine.ts';
import { ScaledClock } from '../scaled-clock.ts';
import type { SimulatorOptions } from '../simulator.ts';

const noMachines: MachineRunner = {
  start: () => {
    throw new Error('there are no machines here');
  },
};

/** A platform cluster for tests: the simulated API server, with all dependencies of another simulator. */
export async function startTestPlatformCluster() {
  const folder = await mkdtemp(join(tmpdir(), 'platform-'));
  const options: SimulatorOptions = {
    host: '127.0.0.1',
    port: 0,
    folder,
    clock: new ScaledClock(),
    switchboard: new CallInterceptor(),
    runner: noMachines,
    extra: {},
  };
  const running = await kube.start(options);
  const close = async (): Promise<void> => {
    await running.close();
    await rm(folder, { recursive: true });
  };
  return { options, kubeconfig: running.line.credentials['kubeconfig'] ?? '', close };
}
