import { startKubeSimulator } from '../../../world/kube/index.ts';
import { operatorSimulator } from '../../../world/operator/index.ts';
import type { RunningWorld } from '../../../world/world.ts';

/** The same hardware with another platform cluster, which has an operator of its own. Closing ends only these two. */
export async function startSecondPlatform(world: RunningWorld, folder: string): Promise<RunningWorld> {
  const { clock, switchboard, machines: runner } = world;
  const options = { host: '127.0.0.1', port: 0, folder, seed: undefined, clock, switchboard, runner };
  const platform = await startKubeSimulator({ ...options, extra: {} });
  const kubeconfig = platform.line.credentials['kubeconfig'] ?? '';
  const operator = await operatorSimulator.start({ ...options, extra: { kubeconfig } });
  const close = async (): Promise<void> => {
    await operator.close();
    await platform.close();
  };
  return { ...world, platform, kubeconfig, close };
}
