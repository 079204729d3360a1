import { createHash } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { DhcpServer } from '../dhcp-server.ts';
import type { MachineRunner } from '../machine.ts';
import { commandRunner } from '../machine-runner/command.ts';
import type { RoomOptions } from '../room.ts';
import { Client, identify } from './client.ts';
import { newDataset } from './dataset-properties.ts';
import type { Dispatcher } from './dispatch.ts';
import { Events } from './events.ts';
import { Jobs } from './jobs.ts';
import { newArc } from './memory-room.ts';
import { type Nas, newBootId } from './nas.ts';
import type { Entry } from './query.ts';
import type { Seed } from './seed.ts';
import { materialize, parentOf, realPath, thickReservation } from './storage.ts';
import { findVersion } from './versions.ts';

/** 64 bits, which no pool of another system has. */
function guidOf(folder: string, pool: string): string {
  const digest = createHash('sha256').update(`${folder} ${pool}`).digest('hex');
  return BigInt(`0x${digest.slice(0, 16)}`).toString();
}

/** A system with its hardware, users and pools, and nothing on them yet. */
export function createNas(options: RoomOptions, seed: Seed, endPoint: Buffer, signal: AbortSignal): Nas {
  const events = new Events();
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
    version: findVersion(options.extra['version']),
    clock: options.clock,
    switchboard: options.switchboard,
    runner: runnerOf(options),
    folder: options.folder,
    signal,
    hostname: seed.hostname,
    memoryMiB: seed.memoryMiB,
    arc: newArc(seed.memoryMiB, seed.arcMiB),
    cores: seed.cores,
    guestMachines: seed.guests,
    hasKvm: seed.kvm,
    pools: new Map(
      seed.pools.map(({ name, sizeBytes, draid, usedBytes, status }, index) => {
        const guid = guidOf(options.folder, name);
        return [name, { id: index + 1, name, guid, sizeBytes, isDraid: draid, ballastBytes: usedBytes, status }];
      }),
    ),
    datasets: new Map(),
    snapshots: new Map(),
    fileMarks: new Map(),
    vms: new Map(),
    devices: new Map(),
    links: new Map([...seed.interfaces, ...bridges].map((link) => [link.name, link])),
    dhcp: new Map(seed.dhcp.map(({ interface: name, ...settings }) => [name, new DhcpServer(settings)])),
    users: seed.users.map(({ name, password, roles, twoFactor }) => ({ name, password, roles, twoFactor })),
    keys: seed.users
      .filter(({ apiKey }) => apiKey !== null)
      .map(({ name, apiKey, expiresAt, revoked }, index) => ({
        id: index + 1,
        user: name,
        key: `${index + 1}-${apiKey}`,
        expiresAt: revoked === null ? expiresAt : new Date(0),
        revokedReason: revoked,
      })),
    neighbours: [...seed.neighbours],
    tokens: new Map(),
    endPoint,
    activeController: seed.activeController,
    allowed: seed.allowed,
    nextId: { vm: 1, device: 1, pid: 4001, transaction: 100 },
    latencies: new Map(Object.entries(seed.latencies)),
    downloads: new Map(),
    jobs: new Jobs(events),
    events,
    state: 'READY',
    bootId: newBootId(),
    bootedAt: new Date(),
  };
}

/** What `--machine-runner` names, or else what the world runs. */
function runnerOf({ extra, runner, log }: RoomOptions): MachineRunner {
  const command = extra['machine-runner'];
  return command === undefined ? runner : commandRunner(command, log);
}

/** Puts onto the disks what the seed asks for. */
export async function furnish(nas: Nas, dispatcher: Dispatcher, seed: Seed): Promise<void> {
  await mkdir(realPath(nas, '/mnt'), { recursive: true });
  for (const { name } of seed.pools) {
    const root = newDataset(name, 'FILESYSTEM');
    // What TrueNAS sets on the root of every pool it makes.
    const set = { aclmode: 'discard', acltype: 'posix', atime: 'off', compression: 'lz4', xattr: 'on' };
    for (const [key, value] of Object.entries(set)) root.properties.set(key, value);
    nas.datasets.set(name, root);
    await materialize(nas, root);
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

async function addDataset(nas: Nas, { name, volumeBytes, userProperties, properties }: Seed['datasets'][number]) {
  for (let at = parentOf(name); at !== undefined; at = parentOf(at)) {
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
  await materialize(nas, dataset);
}

/** Calls a method from within, as full administrator and past the switchboard. */
async function call(nas: Nas, dispatcher: Dispatcher, name: string, params: readonly unknown[]): Promise<Entry> {
  const client = new Client({ address: '', isSecure: true, endpoint: 'current' });
  client.identity = identify(
    nas.version,
    { name: 'root', password: null, roles: ['FULL_ADMIN'], twoFactor: false },
    'API_KEY',
  );
  return (await dispatcher.context(client, nas.signal).invoke(name, params)) as Entry;
}
