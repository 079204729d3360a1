import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import type { RunningSimulator, Simulator, SimulatorOptions } from '../simulator.ts';
import { authMethods } from './auth/auth-methods.ts';
import { applySeed, createNasState } from './create-nas.ts';
import { datasetMethods } from './dataset/dataset-methods.ts';
import { trueNasDescription } from './description.ts';
import { coreMethods } from './middleware/core-methods.ts';
import { MethodDispatcher } from './middleware/dispatcher.ts';
import type { ApiMethod } from './middleware/method.ts';
import { trueNasSimulatorName } from './nas-state.ts';
import { downloadMethods } from './protocol/download.ts';
import { issueServingCertificate } from './protocol/serving-certificate.ts';
import { startTrueNasWebServer } from './protocol/web-server.ts';
import { TrueNasSeed } from './seed.ts';
import { filesystemMethods } from './storage/filesystem-methods.ts';
import { poolMethods } from './storage/pool-methods.ts';
import { interfaceMethods } from './system/interface-methods.ts';
import { systemMethods } from './system/system-methods.ts';
import { createTrueNasTestControls, type TrueNasTestControls } from './test-controls/test-controls.ts';
import type { TrueNasRelease } from './versions.ts';
import { vmDeviceMethods } from './vm/device/device-methods.ts';
import { vmMethods } from './vm/vm-methods.ts';
import { killVm } from './vm/vm-runtime.ts';

/** A simulated TrueNAS, with the test controls. */
export interface TrueNasSimulator extends RunningSimulator, TrueNasTestControls {
  restart: TrueNasTestControls['restart'];
}

/** Starts a TrueNAS on `host:port`. `extra.version` chooses the release: 25.04.1, 25.04.2, 25.10 (default), 26. */
export async function startTrueNasSimulator(options: SimulatorOptions): Promise<TrueNasSimulator> {
  const seed = readSeed(options.seed);
  const life = new AbortController();
  const { ca, cert, key, hash } = await issueServingCertificate(options.host, 'Simulated TrueNAS');
  const nas = createNasState(options, seed, hash, life.signal);
  const dispatcher = new MethodDispatcher(nas, methodsOf(nas.version));
  await applySeed(nas, dispatcher, seed);
  const caPath = join(options.folder, 'ca.pem');
  await writeFile(caPath, ca);
  const { host, port } = options;
  const idleSeconds = seed.idleSeconds ?? nas.version.idleSeconds;
  const server = await startTrueNasWebServer(nas, dispatcher, { host, port, cert, key, idleSeconds });
  const first = nas.keys.find((one) => one.revokedReason === null && one.expiresAt === null);
  return {
    line: {
      simulator: trueNasSimulatorName,
      url: `wss://${host}:${server.port}/api/current`,
      credentials: { user: first?.user ?? '', apiKey: first?.key ?? '' },
      ca: caPath,
    },
    ...createTrueNasTestControls(nas, server, (version) => dispatcher.use(methodsOf(version))),
    close: async () => {
      life.abort();
      await server.close();
      await Promise.all([...nas.vms.values()].map((vm) => killVm(nas, vm)));
    },
  };
}

/** The simulator, for the command line. */
export const trueNasSimulator: Simulator = {
  ...trueNasDescription,
  start: startTrueNasSimulator,
};

function methodsOf(version: TrueNasRelease): readonly ApiMethod[] {
  return [
    ...authMethods(version),
    ...coreMethods(version),
    ...systemMethods,
    ...poolMethods,
    ...datasetMethods,
    ...filesystemMethods,
    ...interfaceMethods,
    ...vmMethods,
    ...vmDeviceMethods(version),
    ...downloadMethods,
  ];
}

function readSeed(given: unknown): TrueNasSeed {
  const result = TrueNasSeed.safeParse(given ?? {});
  if (result.success) return result.data;
  throw new RangeError(`the seed is not one for truenas: ${z.prettifyError(result.error)}`);
}
