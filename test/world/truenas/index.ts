import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import type { Room, RoomOptions, RunningRoom } from '../room.ts';
import { accountMethods } from './accounts.ts';
import { alertMethods } from './alert.ts';
import { authMethods } from './auth.ts';
import { issueServingCertificate } from './certificate.ts';
import { coreMethods } from './core.ts';
import { diskMethods } from './disk.ts';
import { Dispatcher } from './dispatch.ts';
import { type Doors, doorsOf } from './doors.ts';
import { downloadMethods } from './download.ts';
import { facts } from './facts.ts';
import { filesystemMethods } from './filesystem.ts';
import { interfaceMethods } from './interface.ts';
import { killVm } from './machines.ts';
import { memoryMethods } from './memory.ts';
import type { Method } from './method.ts';
import { roomName } from './nas.ts';
import { poolMethods } from './pool.ts';
import { datasetMethods } from './pool-dataset.ts';
import { snapshotMethods } from './pool-snapshot.ts';
import { Seed } from './seed.ts';
import { listen } from './server.ts';
import { createNas, furnish } from './setup.ts';
import { systemMethods } from './system.ts';
import type { Version } from './versions.ts';
import { vmMethods } from './vm.ts';
import { cloneMethods } from './vm-clone.ts';
import { convertMethods } from './vm-convert.ts';
import { vmDeviceMethods } from './vm-device.ts';
import { displayMethods } from './vm-display.ts';
import { zfsMethods } from './zfs.ts';

/** A simulated TrueNAS, with the doors that only a test may use. */
export interface TrueNasRoom extends RunningRoom, Doors {
  restart: Doors['restart'];
}

/** Starts a TrueNAS on `host:port`. `extra.version` chooses the release: 25.04.1, 25.04.2, 25.10 (default), 26. */
export async function startTrueNas(options: RoomOptions): Promise<TrueNasRoom> {
  const seed = readSeed(options.seed);
  const life = new AbortController();
  const { ca, cert, key, hash } = await issueServingCertificate(options.host, 'Simulated TrueNAS');
  const nas = createNas(options, seed, hash, life.signal);
  const dispatcher = new Dispatcher(nas, methodsOf(nas.version));
  await furnish(nas, dispatcher, seed);
  const caPath = join(options.folder, 'ca.pem');
  await writeFile(caPath, ca);
  const { host, port } = options;
  const idleSeconds = seed.idleSeconds ?? nas.version.idleSeconds;
  const server = await listen(nas, dispatcher, { host, port, cert, key, idleSeconds });
  const first = nas.keys.find((one) => one.revokedReason === null && one.expiresAt === null);
  return {
    line: {
      room: roomName,
      url: `wss://${host}:${server.port}/api/current`,
      credentials: { user: first?.user ?? '', apiKey: first?.key ?? '' },
      ca: caPath,
    },
    ...doorsOf(nas, server, (version) => dispatcher.use(methodsOf(version))),
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
    ...authMethods(version),
    ...accountMethods,
    ...coreMethods(version),
    ...systemMethods,
    ...poolMethods,
    ...datasetMethods,
    ...filesystemMethods,
    ...interfaceMethods,
    ...vmMethods,
    ...memoryMethods,
    ...vmDeviceMethods(version),
    ...convertMethods,
    ...displayMethods,
    ...cloneMethods,
    ...snapshotMethods(version),
    ...alertMethods,
    ...diskMethods,
    ...downloadMethods,
    ...zfsMethods(version),
  ];
}

function readSeed(given: unknown): Seed {
  const result = Seed.safeParse(given ?? {});
  if (result.success) return result.data;
  throw new RangeError(`the seed is not one for truenas: ${z.prettifyError(result.error)}`);
}
