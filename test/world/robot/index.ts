/**
 * # Bare-metal servers at Hetzner
 *
 * The Robot webservice over HTTPS with its own CA: forms, irregular response shapes, limits and lock-out. Behind it are
 * servers with firmware, disks of real bytes and NICs: a reset follows the boot order, and boots rescue or the content
 * of a disk.
 */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { createKubeAuthority } from '../kube/auth/certificates.ts';
import type { RunningSimulator, Simulator, SimulatorOptions } from '../simulator.ts';
import { robotDescription } from './description.ts';
import { forwardFailoverAddresses } from './failover-forwarding.ts';
import type { DiskWrite } from './hardware.ts';
import { defaultSoftware, type ServerSoftware } from './machine/software.ts';
import { chooseSshPort } from './setup/choose-ssh-port.ts';
import { addressAt, createRobotState } from './setup/create-robot.ts';
import { RobotSeed } from './setup/seed.ts';
import { createRobotTestControls, type RobotTestControls } from './test-controls.ts';
import { RobotError } from './webservice/errors.ts';
import { listenRobot } from './webservice/web-server.ts';

/** One or several simulated Robot accounts, with the test controls. */
export interface RobotSimulator extends RunningSimulator, RobotTestControls {
  /** PEM. */
  readonly ca: string;
  restart(): Promise<void>;
}

/** Starts the webservice on `host:port`, and the servers at their own addresses. */
export async function startRobotSimulator(
  options: SimulatorOptions,
  software: ServerSoftware = defaultSoftware,
): Promise<RobotSimulator> {
  const seed = parseSeed(options.seed);
  const life = new AbortController();
  const ledger: DiskWrite[] = [];
  const sshPort = await chooseSshPort(options.extra['ssh-port'], firstAddress(seed));
  const robot = createOrThrow({ options, seed, software, signal: life.signal, sshPort, ledger });
  const machines = [...robot.servers.values()].map(({ machine }) => machine);
  const off = new Set(seed.servers.filter(({ power }) => power === 'off').map(({ number }) => number));
  await Promise.all(machines.filter(({ box }) => !off.has(box.number)).map((machine) => machine.wasOn()));
  const authority = await createKubeAuthority('world-robot-ca');
  const caPath = join(options.folder, 'ca.crt');
  await writeFile(caPath, authority.cert);
  const serving = await authority.issueServer([options.host, 'localhost']);
  const failovers = await forwardFailoverAddresses(robot);
  const close = async (): Promise<void> => {
    await failovers.close();
    life.abort(new Error('the simulator has closed'));
    await Promise.all(machines.map((machine) => machine.close()));
  };
  const server = await listenRobot(robot, options.host, options.port, serving).catch(async (error: unknown) => {
    await close();
    throw error;
  });
  const [account] = robot.accounts;
  const credentials = { user: account?.user ?? '', password: account?.password ?? '', sshPort: String(sshPort) };
  return {
    line: { simulator: robotDescription.name, url: `https://${options.host}:${server.port}`, credentials, ca: caPath },
    ca: authority.cert,
    ...createRobotTestControls(robot, ledger),
    restart: server.restart,
    close: async () => {
      await close();
      await server.close();
    },
  };
}

/** The simulator, for the command line. */
export const robotSimulator: Simulator = {
  ...robotDescription,
  start: async (options) => await startRobotSimulator(options),
};

function createOrThrow(ground: Parameters<typeof createRobotState>[0]): ReturnType<typeof createRobotState> {
  try {
    return createRobotState(ground);
  } catch (error) {
    if (error instanceof RobotError) throw new RangeError(`the seed is not one for robot: a key is not one`);
    throw error;
  }
}

function parseSeed(given: unknown): RobotSeed {
  const result = RobotSeed.safeParse(given ?? {});
  if (result.success) return result.data;
  throw new RangeError(`the seed is not one for robot: ${z.prettifyError(result.error)}`);
}

function firstAddress(seed: RobotSeed): string | undefined {
  const addresses = seed.servers.map((server, index) => addressAt(seed, server, index));
  return addresses.find((address) => address !== null) ?? undefined;
}
