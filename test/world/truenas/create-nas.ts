import { createHash } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { commandRunner } from '../machine-runner/command-runner.ts';
import type { MachineRunner } from '../machine-runner/machine.ts';
import { DhcpServer } from '../network/dhcp-server.ts';
import type { SimulatorOptions } from '../simulator.ts';
import { newDataset } from './dataset/dataset-properties.ts';
import type { MethodDispatcher } from './middleware/dispatcher.ts';
import { JobQueue } from './middleware/job-queue.ts';
import type { Entry } from './middleware/query.ts';
import { type NasState, newBootId } from './nas-state.ts';
import { ClientConnection, clientIdentityOf } from './protocol/client-connection.ts';
import { CollectionEvents } from './protocol/collection-events.ts';
import type { TrueNasSeed } from './seed.ts';
import { createDatasetFiles, parentDatasetOf, realPath, thickReservation } from './storage/dataset-files.ts';
import { findRelease } from './versions.ts';

/** 64 bits, unique among pools of all systems. */
function guidOf(folder: string, pool: string): string {
  const digest = createHash('sha256').update(`${folder} ${pool}`).digest('hex');
  return BigInt(`0x${digest.slice(0, 16)}`).toString();
}

/** An empty system with its hardware, users and pools. */
export function createNasState(
  options: SimulatorOptions,
  seed: TrueNasSeed,
  endPoint: Buffer,
  signal: AbortSignal,
): NasState {
  const events = new CollectionEvents();
  const bridges = seed.bridges.map((name) => ({
    name,
    type: 'BRIDGE' as const,
    description: '',
    address: null,
    members: [],
    mtu: 1500,
    up: true,
  }));
  return {
    version: findRelease(options.extra['version']),
    clock: options.clock,
    switchboard: options.switchboard,
    runner: runnerOf(options),
    folder: options.folder,
    signal,
    hostname: seed.hostname,
    memoryMiB: seed.memoryMiB,
    cores: seed.cores,
    guestMachines: seed.guests,
    hasKvm: true,
    pools: new Map(
      seed.pools.map(({ name, sizeBytes, status }, index) => {
        const guid = guidOf(options.folder, name);
        return [name, { id: index + 1, name, guid, sizeBytes, ballastBytes: 0, status }];
      }),
    ),
    datasets: new Map(),
    fileMarks: new Map(),
    vms: new Map(),
    devices: new Map(),
    links: new Map([...seed.interfaces, ...bridges].map((link) => [link.name, link])),
    dhcp: new Map(seed.dhcp.map(({ interface: name, ...settings }) => [name, new DhcpServer(settings)])),
    users: seed.users.map(({ name, roles }) => ({ name, roles })),
    keys: seed.users.map(({ name, apiKey, expiresAt, revoked }, index) => ({
      id: index + 1,
      user: name,
      key: `${index + 1}-${apiKey}`,
      expiresAt: revoked === null ? expiresAt : new Date(0),
      revokedReason: revoked,
    })),
    tokens: new Map(),
    endPoint,
    nextId: { vm: 1, device: 1, pid: 4001, transaction: 100 },
    latencies: new Map(Object.entries(seed.latencies)),
    downloads: new Map(),
    jobs: new JobQueue(events),
    events,
    state: 'READY',
    bootId: newBootId(),
    bootedAt: new Date(),
  };
}

/** The runner of `--machine-runner`, or else the runner of the caller. */
function runnerOf({ extra, runner, log }: SimulatorOptions): MachineRunner {
  const command = extra['machine-runner'];
  return command === undefined ? runner : commandRunner(command, log);
}

/** Creates the datasets and files of the seed on disk. */
export async function applySeed(nas: NasState, dispatcher: MethodDispatcher, seed: TrueNasSeed): Promise<void> {
  await mkdir(realPath(nas, '/mnt'), { recursive: true });
  for (const { name } of seed.pools) {
    const root = newDataset(name, 'FILESYSTEM');
    nas.datasets.set(name, root);
    await createDatasetFiles(nas, root);
  }
  for (const dataset of seed.datasets) await addDataset(nas, dataset);
  for (const { path, content, mode } of seed.files) {
    await mkdir(dirname(realPath(nas, path)), { recursive: true });
    await writeFile(realPath(nas, path), content);
    nas.fileMarks.set(path, { mode: Number.parseInt(mode, 8), uid: 0, gid: 0 });
  }
  for (const { name, row, devices } of seed.vms) {
    const vm = await call(nas, dispatcher, 'vm.create', [{ name, memory: 1024, ...row }]);
    for (const device of devices) await call(nas, dispatcher, 'vm.device.create', [{ vm: vm['id'], ...device }]);
  }
}

async function addDataset(
  nas: NasState,
  { name, volumeBytes, userProperties, properties }: TrueNasSeed['datasets'][number],
) {
  for (let at = parentDatasetOf(name); at !== undefined; at = parentDatasetOf(at)) {
    if (!nas.datasets.has(at)) throw new RangeError(`seed: dataset ${name} needs ${at} before it`);
  }
  const dataset = newDataset(name, volumeBytes === undefined ? 'FILESYSTEM' : 'VOLUME');
  for (const [key, value] of Object.entries(properties)) dataset.properties.set(key, value);
  for (const [key, value] of Object.entries(userProperties)) dataset.userProperties.set(key, value);
  if (volumeBytes !== undefined) {
    dataset.properties.set('volsize', String(volumeBytes));
    dataset.properties.set('volblocksize', '16384');
    dataset.properties.set('refreservation', String(thickReservation(volumeBytes, 16384)));
  }
  nas.datasets.set(name, dataset);
  await createDatasetFiles(nas, dataset);
}

/** Calls a method internally, as full administrator and without the interceptor. */
async function call(
  nas: NasState,
  dispatcher: MethodDispatcher,
  name: string,
  params: readonly unknown[],
): Promise<Entry> {
  const client = new ClientConnection({ address: '', isSecure: true, endpoint: 'current' });
  client.identity = clientIdentityOf(nas.version, { name: 'root', roles: ['FULL_ADMIN'] }, 'API_KEY');
  return (await dispatcher.context(client, nas.signal).invoke(name, params)) as Entry;
}
