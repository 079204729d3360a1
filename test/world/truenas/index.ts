import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import type { Room, RoomOptions, RunningRoom } from '../room.ts';
import { authMethods } from './auth.ts';
import { issueServingCertificate } from './certificate.ts';
import { coreMethods } from './core.ts';
import { diskMethods } from './disk.ts';
import { Dispatcher } from './dispatch.ts';
import { type Dump, dump } from './dump.ts';
import { CallError, errnos } from './errors.ts';
import { facts } from './facts.ts';
import { filesystemMethods } from './filesystem.ts';
import { interfaceMethods } from './interface.ts';
import { killVm, nameOf, startVm } from './machines.ts';
import type { Method } from './method.ts';
import { type Nas, newBootId, pause, roomName, type Vm } from './nas.ts';
import { poolMethods } from './pool.ts';
import { datasetMethods } from './pool-dataset.ts';
import { Seed } from './seed.ts';
import { listen, type WebServer } from './server.ts';
import { createNas, furnish } from './setup.ts';
import { reckonSpace } from './storage.ts';
import { systemMethods } from './system.ts';
import type { Version } from './versions.ts';
import { vmMethods } from './vm.ts';
import { convertMethods } from './vm-convert.ts';
import { vmDeviceMethods } from './vm-device.ts';
import { zfsMethods } from './zfs.ts';

/** A simulated TrueNAS, with the doors that only a test may use. */
export interface TrueNasRoom extends RunningRoom {
  /** The state itself, to look at and to break by hand. Nothing here goes past the switchboard. */
  readonly nas: Nas;
  /**
   * Restarts the middleware: connections end, job numbers begin again, machines run on. With `hostReboot` the whole
   * host goes down and up: machines off, a new boot id, then the machines with `autostart`.
   */
  restart(options?: { readonly hostReboot?: boolean }): Promise<void>;
  /** The whole state as plain data, equal when nothing differs. */
  dump(): Dump;
  /** Why nothing will come of this VM's (last) boot, or undefined. Throws a RangeError for an unknown name. */
  stuck(vmName: string): string | undefined;
  /** Kills the guest, as a crash of QEMU would. */
  powerOff(vmName: string): Promise<void>;
  /** Removes a VM and its devices behind everybody's back; zvols and files stay. */
  loseVm(vmName: string): Promise<void>;
  /** Removes a device of a VM behind everybody's back. */
  loseDevice(vmName: string, matches: (attributes: Readonly<Record<string, unknown>>) => boolean): void;
  /** Fills a pool until only so many bytes are left. */
  fillPool(pool: string, leaveBytes: number): Promise<void>;
  /** The next job of this method fails with this text and errno (default EFAULT). */
  failNextJob(method: string, text: string, errno?: keyof typeof errnos): void;
  /** Every session runs out: the next message of each is refused and logged out. */
  expireSessions(): void;
  /** The key of this user stops being good. */
  revokeKey(user: string): void;
}

/** Starts a TrueNAS on `host:port`. `extra.version` chooses the release: 25.04.1, 25.04.2, 25.10 (default), 26. */
export async function startTrueNas(options: RoomOptions): Promise<TrueNasRoom> {
  const seed = readSeed(options.seed);
  const life = new AbortController();
  const nas = createNas(options, seed, life.signal);
  const dispatcher = new Dispatcher(nas, methodsOf(nas.version));
  await furnish(nas, dispatcher, seed);
  const { ca, cert, key } = await issueServingCertificate(options.host, 'Simulated TrueNAS');
  const caPath = join(options.folder, 'ca.pem');
  await writeFile(caPath, ca);
  const { host, port } = options;
  const idleSeconds = seed.idleSeconds ?? nas.version.idleSeconds;
  const server = await listen(nas, dispatcher, { host, port, cert, key, idleSeconds });
  const first = nas.keys.find((one) => one.revokedReason === null && one.expiresAt === null);
  return {
    nas,
    line: {
      room: roomName,
      url: `wss://${host}:${server.port}/api/current`,
      credentials: { user: first?.user ?? '', apiKey: first?.key ?? '' },
      ca: caPath,
    },
    ...doors(nas, server),
    close: async () => {
      life.abort();
      await server.close();
      await Promise.all([...nas.vms.values()].map((vm) => killVm(nas, vm)));
    },
  };
}

/** The room, for the command line. */
export const room: Room = {
  ...facts,
  start: startTrueNas,
};

function methodsOf(version: Version): readonly Method[] {
  return [
    ...authMethods,
    ...coreMethods(version),
    ...systemMethods,
    ...poolMethods,
    ...datasetMethods,
    ...filesystemMethods,
    ...interfaceMethods,
    ...vmMethods,
    ...vmDeviceMethods(version),
    ...convertMethods,
    ...diskMethods,
    ...zfsMethods(version),
  ];
}

function readSeed(given: unknown): Seed {
  const result = Seed.safeParse(given ?? {});
  if (result.success) return result.data;
  throw new RangeError(`the seed is not one for truenas: ${z.prettifyError(result.error)}`);
}

function doors(nas: Nas, server: WebServer): Omit<TrueNasRoom, 'nas' | 'line' | 'close'> {
  const find = (name: string): Vm => {
    const vm = [...nas.vms.values()].find((one) => nameOf(one) === name);
    if (!vm) throw new RangeError(`no VM ${name}; there is ${[...nas.vms.values()].map(nameOf).join(', ') || 'none'}`);
    return vm;
  };
  return {
    restart: ({ hostReboot = false } = {}) => restart(nas, server, hostReboot),
    dump: () => dump(nas),
    stuck: (name) => {
      const vm = find(name);
      return vm.guest ? vm.guest.machine.stuck : vm.lastStuck;
    },
    powerOff: async (name) => killVm(nas, find(name)),
    loseVm: async (name) => {
      const vm = find(name);
      await killVm(nas, vm);
      nas.vms.delete(vm.id);
      for (const device of [...nas.devices.values()]) if (device.vm === vm.id) nas.devices.delete(device.id);
    },
    loseDevice: (name, matches) => {
      const vm = find(name);
      for (const device of [...nas.devices.values()]) {
        if (device.vm === vm.id && matches(device.attributes)) nas.devices.delete(device.id);
      }
    },
    fillPool: async (name, leaveBytes) => {
      const pool = nas.pools.get(name);
      if (!pool) throw new RangeError(`no pool ${name}`);
      pool.ballastBytes = 0;
      pool.ballastBytes = Math.max(0, ((await reckonSpace(nas)).get(name)?.available ?? 0) - leaveBytes);
    },
    failNextJob: (method, text, errno = 'EFAULT') => nas.jobs.failNext(method, new CallError(text, errnos[errno])),
    expireSessions: () => {
      for (const client of server.clients) client.expired = true;
    },
    revokeKey: (user) => {
      for (const key of nas.keys)
        if (key.user === user) Object.assign(key, { expiresAt: new Date(0), revokedReason: 'revoked' });
    },
  };
}

/** How long the middleware is away, in the world's time. */
const middlewareSeconds = 10;
const hostSeconds = 90;

async function restart(nas: Nas, server: WebServer, hostReboot: boolean): Promise<void> {
  server.down();
  nas.jobs.forget();
  nas.tokens.clear();
  if (hostReboot) {
    await Promise.all([...nas.vms.values()].map((vm) => killVm(nas, vm)));
    nas.bootId = newBootId();
    nas.bootedAt = new Date();
  }
  await pause(nas, hostReboot ? hostSeconds : middlewareSeconds);
  server.up();
  if (!hostReboot) return;
  for (const vm of nas.vms.values()) {
    if (vm.row['autostart'] !== true) continue;
    // A machine that cannot be started stays off; the middleware only logs it.
    await startVm(nas, vm, false).catch((error: unknown) => {
      if (!(error instanceof CallError)) throw error;
    });
  }
}
