import { statSync } from 'node:fs';
import { copyFile, mkdir, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { CallInterceptor } from '../../world/faults/call-interceptor.ts';
import { startImageFactory } from '../../world/image-factory/index.ts';
import type { MachineRunner } from '../../world/machine-runner/machine.ts';
import { ScaledClock } from '../../world/scaled-clock.ts';
import { startTrueNasSimulator, type TrueNasSimulator } from '../../world/truenas/index.ts';
import type { NasState } from '../../world/truenas/nas-state.ts';
import { createDatasetFiles, realPath } from '../../world/truenas/storage/dataset-files.ts';
import { startVm } from '../../world/truenas/vm/vm-runtime.ts';
import { CallCounter, runSimulatorProcess } from '../simulator-process.ts';
import type { ClusterTemplate } from './cluster-template.ts';
import {
  clustersOnSystem,
  configName,
  derivedNames,
  placementOf,
  systemAddress,
  systemCount,
  systemPort,
  vmIdMapper,
} from './fleet-layout.ts';
import { NameSubstitution } from './name-substitution.ts';

export interface SystemsInput {
  /** The folder of the template. */
  readonly folder: string;
  /** For the data of the systems. */
  readonly home: string;
  readonly installation: string;
  readonly clusters: number;
}

/** The connection of each NAS, and the times of its boot image in seconds since 1970. */
export interface SystemsReady {
  readonly factoryUrl: string;
  readonly systems: readonly {
    readonly user: string;
    readonly apiKey: string;
    readonly ca: string;
    readonly imageModified: number;
    readonly imageChanged: number;
  }[];
}

/** Machines that are switched on without a running system: they receive no calls. */
const idleMachineRunner: MachineRunner = {
  start: () => {
    let off = (): void => {};
    const exited = new Promise<void>((resolve) => {
      off = resolve;
    });
    return { pressPowerButton: () => {}, kill: () => off(), exited, stuck: undefined };
  },
};

/** The NAS of the fleet with all their resources, and the image factory. */
await runSimulatorProcess(async ({ folder, home, installation, clusters }: SystemsInput) => {
  const pattern = JSON.parse(await readFile(join(folder, 'pattern.json'), 'utf8')) as ClusterTemplate;
  const counts = new CallCounter();
  const switchboard = new CallInterceptor({ kept: 0 });
  switchboard.onCall(({ simulator, name }) => counts.add(`${simulator} ${name}`));
  const common = { clock: new ScaledClock(1), switchboard, runner: idleMachineRunner, extra: {} };
  const folderOf = async (name: string): Promise<string> => {
    const path = join(home, name);
    await mkdir(path, { recursive: true });
    return path;
  };
  const factory = await startImageFactory({
    ...common,
    host: '127.47.0.2',
    port: 0,
    folder: await folderOf('factory'),
  });
  const told: SystemsReady['systems'][number][] = [];
  for (let system = 0; system < systemCount; system += 1) {
    const seed = { hostname: configName(system), memoryMiB: 2 ** 23, pools: [{ name: 'tank', sizeBytes: 2 ** 50 }] };
    const at = { host: systemAddress(system), port: systemPort, folder: await folderOf(configName(system)) };
    const simulator = await startTrueNasSimulator({ ...common, ...at, seed });
    await fillNas(simulator, pattern, { installation, clusters, system });
    const { user = '', apiKey = '' } = simulator.line.credentials;
    const ca = await readFile(simulator.line.ca ?? '', 'utf8');
    const image = pattern.machines[0]?.status?.progress?.facts?.['image'];
    const { mtimeMs, ctimeMs } = statSync(realPath(simulator.nas, String(image)));
    told.push({ user, apiKey, ca, imageModified: mtimeMs / 1000, imageChanged: ctimeMs / 1000 });
  }
  const ready: SystemsReady = { factoryUrl: factory.line.url, systems: told };
  return { ready, tell: () => counts.take() };
});

interface SystemShare {
  readonly installation: string;
  readonly clusters: number;
  readonly system: number;
}

/** Creates the provider's resources on a NAS: first the shared ones, then those of each cluster. */
async function fillNas({ nas }: TrueNasSimulator, pattern: ClusterTemplate, share: SystemShare): Promise<void> {
  for (let index = 0; index < clustersOnSystem(share.system, share.clusters); index += 1) {
    const { ref, addresses } = placementOf(index * systemCount + share.system);
    const host = `${systemAddress(share.system)}:${systemPort}`;
    const names = [...derivedNames(ref, share.installation, configName(share.system), host), ...addresses];
    await addClusterToNas(nas, pattern, new NameSubstitution(pattern.names, names), index);
  }
  for (const vm of nas.vms.values()) await startVm(nas, vm, false);
}

async function addClusterToNas(
  nas: NasState,
  { nas: made }: ClusterTemplate,
  renaming: NameSubstitution,
  index: number,
): Promise<void> {
  for (const { properties, userProperties, ...rest } of renaming.of(made.datasets)) {
    if (nas.datasets.has(rest.id)) continue;
    const entries = {
      properties: new Map(Object.entries(properties)),
      userProperties: new Map(Object.entries(userProperties)),
    };
    const dataset = { ...rest, ...entries, createdAt: new Date(rest.createdAt) };
    nas.datasets.set(dataset.id, dataset);
    await createDatasetFiles(nas, dataset);
  }
  for (const [path, mark] of made.marks) {
    const target = renaming.text(path);
    if (nas.fileMarks.has(target)) continue;
    await mkdir(dirname(realPath(nas, target)), { recursive: true });
    await copyFile(join(made.files, path), realPath(nas, target));
    nas.fileMarks.set(target, { ...mark });
  }
  const vmId = vmIdMapper(
    made.vms.map(({ id }) => id),
    index,
  );
  for (const { id, row } of renaming.of(made.vms)) {
    nas.vms.set(vmId(id), { id: vmId(id), row, guest: undefined, lastStuck: undefined });
    nas.nextId.vm = vmId(id) + 1;
  }
  for (const device of renaming.of(made.devices)) {
    const id = nas.nextId.device++;
    nas.devices.set(id, { ...device, id, vm: vmId(device.vm) });
  }
}
