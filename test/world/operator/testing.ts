import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { WorldClock } from '../clock.ts';
import { room as kube } from '../kube/index.ts';
import type { MachineRunner } from '../machine.ts';
import type { RoomOptions } from '../room.ts';
import { Switchboard } from '../switchboard.ts';

const noMachines: MachineRunner = {
  start: () => {
    throw new Error('there are no machines here');
  },
};

/** A platform cluster for tests: the world's API server, with everything another room needs to start beside it. */
export async function startTestPlatform() {
  const folder = await mkdtemp(join(tmpdir(), 'platform-'));
  const options: RoomOptions = {
    host: '127.0.0.1',
    port: 0,
    folder,
    clock: new WorldClock(),
    switchboard: new Switchboard(),
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
