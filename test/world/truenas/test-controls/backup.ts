import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import type { ApiKey, FileMode, NasDataset, NasDevice, NasState, NasVm } from '../nas-state.ts';

/** The state of a NAS at one time: its configuration and a copy of its pools. */
export interface Backup {
  readonly vms: readonly Pick<NasVm, 'id' | 'row'>[];
  readonly devices: readonly NasDevice[];
  readonly keys: readonly ApiKey[];
  readonly datasets: readonly NasDataset[];
  readonly marks: ReadonlyMap<string, FileMode>;
  /** Folder with the content of the pools. */
  readonly folder: string;
}

/**
 * `configuration`: machines, devices and keys, as from a saved configuration; the pools stay as they are. `everything`:
 * the pools too.
 */
export type RestoreScope = 'configuration' | 'everything';

/** Below the simulator's folder: files and zvols. */
const contents = ['root', 'zvol'];

const run = promisify(execFile);

/** Copies a folder; holes stay holes, because disks are mostly empty. */
async function copyTree(from: string, to: string): Promise<void> {
  await mkdir(dirname(to), { recursive: true });
  await run('cp', ['-a', '--sparse=always', '--reflink=auto', '-T', from, to]);
}

/** Copies the whole state. */
export async function takeBackup(nas: NasState): Promise<Backup> {
  const folder = join(nas.folder, 'backup', String(nas.nextId.transaction++));
  for (const name of contents) {
    if (existsSync(join(nas.folder, name))) await copyTree(join(nas.folder, name), join(folder, name));
  }
  return {
    vms: [...nas.vms.values()].map(({ id, row }) => ({ id, row: structuredClone(row) })),
    devices: [...nas.devices.values()].map((device) => structuredClone(device)),
    keys: nas.keys.map((key) => ({ ...key })),
    datasets: [...nas.datasets.values()].map((dataset) => structuredClone(dataset)),
    marks: new Map([...nas.fileMarks].map(([path, mark]) => [path, { ...mark }])),
    folder,
  };
}

/** Restores a NAS whose machines are off. Ids that were assigned since the backup are assigned again. */
export async function restoreBackup(nas: NasState, backup: Backup, extent: RestoreScope): Promise<void> {
  const { vms, devices, keys } = structuredClone({ vms: backup.vms, devices: backup.devices, keys: backup.keys });
  refill(nas.vms, vms, ({ id, row }) => [id, { id, row, guest: undefined, lastStuck: undefined }]);
  refill(nas.devices, devices, (device) => [device.id, device]);
  nas.keys.splice(0, nas.keys.length, ...keys);
  nas.nextId.vm = 1 + Math.max(0, ...nas.vms.keys());
  nas.nextId.device = 1 + Math.max(0, ...nas.devices.keys());
  if (extent === 'configuration') return;
  refill(nas.datasets, structuredClone(backup.datasets), (dataset) => [dataset.id, dataset]);
  refill(nas.fileMarks, [...backup.marks], ([path, mark]) => [path, { ...mark }]);
  for (const name of contents) {
    await rm(join(nas.folder, name), { recursive: true, force: true });
    if (existsSync(join(backup.folder, name))) await copyTree(join(backup.folder, name), join(nas.folder, name));
  }
}

function refill<Key, Value, Item>(map: Map<Key, Value>, items: readonly Item[], entry: (item: Item) => [Key, Value]) {
  map.clear();
  for (const item of items) map.set(...entry(item));
}
