/**
 * # Bare servers at Hetzner
 *
 * The Robot webservice over HTTPS with an authority of its own: forms, odd shapes, limits and lock-out. Behind it servers with
 * firmware, disks of real bytes and network cards: a reset walks the boot order, and boots rescue, or what really lies on a disk.
 */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { makeAuthority } from '../kube/pki.ts';
import type { Room, RoomOptions, RunningRoom } from '../room.ts';
import { type Doors, openDoors } from './doors.ts';
import { facts } from './facts.ts';
import { openFailovers } from './failover-doors.ts';
import type { DiskWrite } from './hardware.ts';
import { Seed } from './seed.ts';
import { addressAt, createRobot } from './setup.ts';
import { realSoftware, type Software } from './software.ts';
import { chooseSshPort } from './ssh-port.ts';
import { RobotError } from './webservice/errors.ts';
import { listen } from './webservice/server.ts';

/** A simulated Robot account or several, with the doors that only a test may use. */
export interface RobotRoom extends RunningRoom, Doors {
  /** PEM. */
  readonly ca: string;
  restart(): Promise<void>;
}

/** Starts the webservice on `host:port`, and the servers at addresses of their own. */
export async function startRobot(options: RoomOptions, software: Software = realSoftware): Promise<RobotRoom> {
  const seed = readSeed(options.seed);
  const life = new AbortController();
  const ledger: DiskWrite[] = [];
  const sshPort = await chooseSshPort(options.extra['ssh-port'], firstAddress(seed));
  const robot = create({ options, seed, software, signal: life.signal, sshPort, ledger });
  const machines = [...robot.servers.values()].map(({ machine }) => machine);
  const off = new Set(seed.servers.filter(({ power }) => power === 'off').map(({ number }) => number));
  await Promise.all(machines.filter(({ box }) => !off.has(box.number)).map((machine) => machine.wasOn()));
  const authority = await makeAuthority('world-robot-ca');
  const caPath = join(options.folder, 'ca.crt');
  await writeFile(caPath, authority.cert);
  const serving = await authority.issueServer([options.host, 'localhost']);
  const failovers = await openFailovers(robot);
  const close = async (): Promise<void> => {
    await failovers.close();
    life.abort(new Error('the room has closed'));
    await Promise.all(machines.map((machine) => machine.close()));
  };
  const server = await listen(robot, options.host, options.port, serving).catch(async (error: unknown) => {
    await close();
    throw error;
  });
  const [account] = robot.accounts;
  const credentials = { user: account?.user ?? '', password: account?.password ?? '', sshPort: String(sshPort) };
  return {
    line: { room: facts.name, url: `https://${options.host}:${server.port}`, credentials, ca: caPath },
    ca: authority.cert,
    ...openDoors(robot, ledger),
    restart: server.restart,
    close: async () => {
      await close();
      await server.close();
    },
  };
}

/** The room, for the command line. */
export const room: Room = { ...facts, start: async (options) => await startRobot(options) };

function create(ground: Parameters<typeof createRobot>[0]): ReturnType<typeof createRobot> {
  try {
    return createRobot(ground);
  } catch (error) {
    if (error instanceof RobotError) throw new RangeError(`the seed is not one for robot: a key is not one`);
    throw error;
  }
}

function readSeed(given: unknown): Seed {
  const result = Seed.safeParse(given ?? {});
  if (result.success) return result.data;
  throw new RangeError(`the seed is not one for robot: ${z.prettifyError(result.error)}`);
}

function firstAddress(seed: Seed): string | undefined {
  const addresses = seed.servers.map((server, index) => addressAt(seed, server, index));
  return addresses.find((address) => address !== null) ?? undefined;
}
