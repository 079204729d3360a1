import { execFile } from 'node:child_process';
import { mkdir, readdir, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { newDataset } from '../dataset/dataset-properties.ts';
import { getDataset } from '../dataset/query-datasets.ts';
import { CallError, errnos } from '../middleware/errors.ts';
import type { NasDataset, NasSnapshot, NasState } from '../nas-state.ts';
import {
  childrenOf,
  createDatasetFiles,
  isOpenInVm,
  mountpointOf,
  parentDatasetOf,
  realPath,
  zvolPath,
} from './dataset-files.ts';

const run = promisify(execFile);

/** Copies a file or a folder; holes stay holes, because disks are mostly empty. */
export async function copyTree(from: string, to: string): Promise<void> {
  await mkdir(dirname(to), { recursive: true });
  await run('cp', ['-a', '--sparse=always', '--reflink=auto', '-T', from, to]);
}

/** The local path of a dataset's own content. */
const contentOf = (nas: NasState, { type, id }: NasDataset): string =>
  realPath(nas, type === 'VOLUME' ? zvolPath(id) : mountpointOf(id));

const snapshotFolder = (nas: NasState, id: string): string => join(nas.folder, 'snapshot', encodeURIComponent(id));

/** The snapshots of a dataset, oldest first. */
export const snapshotsOf = (nas: NasState, dataset: string): NasSnapshot[] =>
  [...nas.snapshots.values()].filter((one) => one.dataset === dataset);

/** Takes a snapshot of a dataset, and of all descendants if recursive. */
export async function takeSnapshot(
  nas: NasState,
  dataset: string,
  name: string,
  recursive = false,
): Promise<NasSnapshot> {
  const all = [getDataset(nas, dataset), ...(recursive ? childrenOf(nas, dataset) : [])];
  if (all.some(({ id }) => nas.snapshots.has(`${id}@${name}`))) {
    const message = `Failed to snapshot ${dataset}@${name}: dataset already exists`;
    throw new CallError(message, errnos.EEXIST);
  }
  const group = nas.nextId.transaction++;
  for (const one of all) await storeSnapshot(nas, one, name, group);
  return nas.snapshots.get(`${dataset}@${name}`) as NasSnapshot;
}

/** Copies a dataset's own content, without the datasets that are mounted inside of it. */
async function copyContent(nas: NasState, dataset: NasDataset, from: string, to: string): Promise<void> {
  if (dataset.type === 'VOLUME') return await copyTree(from, to);
  await mkdir(to, { recursive: true });
  for (const name of await readdir(from)) {
    if (!nas.datasets.has(`${dataset.id}/${name}`)) await copyTree(join(from, name), join(to, name));
  }
}

async function storeSnapshot(nas: NasState, dataset: NasDataset, name: string, transaction: number): Promise<void> {
  const id = `${dataset.id}@${name}`;
  await copyContent(nas, dataset, contentOf(nas, dataset), snapshotFolder(nas, id));
  const properties = new Map(dataset.properties);
  const { type } = dataset;
  const isHeld = false;
  nas.snapshots.set(id, {
    id,
    dataset: dataset.id,
    name,
    type,
    transaction,
    createdAt: new Date(),
    properties,
    isHeld,
  });
}

/** Destroys a snapshot. Refuses a snapshot with a hold or a clone. */
export async function destroySnapshot(nas: NasState, snapshot: NasSnapshot): Promise<void> {
  const refuse = (why: string) => new CallError(`Failed to delete snapshot: cannot destroy '${snapshot.id}': ${why}`);
  if (snapshot.isHeld) throw refuse('dataset is busy');
  if (clonesOf(nas, snapshot.id).length > 0) throw refuse('snapshot has dependent clones');
  await removeSnapshotContent(nas, snapshot);
}

/** Clones of a snapshot. */
const clonesOf = (nas: NasState, snapshot: string): NasDataset[] =>
  [...nas.datasets.values()].filter(({ origin }) => origin === snapshot);

/** Destroys all snapshots of a deleted dataset. */
export async function destroySnapshotsOf(nas: NasState, dataset: string): Promise<void> {
  for (const snapshot of snapshotsOf(nas, dataset)) await removeSnapshotContent(nas, snapshot);
}

async function removeSnapshotContent(nas: NasState, { id }: NasSnapshot): Promise<void> {
  nas.snapshots.delete(id);
  await rm(snapshotFolder(nas, id), { recursive: true, force: true });
}

/** Clones a snapshot. The clone takes only the space of later writes and has no reservation. */
export async function cloneSnapshot(nas: NasState, snapshot: NasSnapshot, id: string): Promise<NasDataset> {
  const refuse = (why: string) => new CallError(`Failed to clone snapshot: ${why}`);
  if (nas.datasets.has(id)) throw refuse('dataset already exists');
  if (!nas.datasets.has(parentDatasetOf(id) ?? '')) throw refuse('no such pool or dataset');
  const dataset = newDataset(id, snapshot.type, snapshot.id);
  for (const key of ['volsize', 'volblocksize']) {
    const value = snapshot.properties.get(key);
    if (value !== undefined) dataset.properties.set(key, value);
  }
  nas.datasets.set(id, dataset);
  await createDatasetFiles(nas, dataset);
  await restoreContent(nas, snapshot, dataset);
  return dataset;
}

/** Rolls a dataset back to a snapshot. Later snapshots must be destroyed first. */
export async function rollBackToSnapshot(nas: NasState, snapshot: NasSnapshot, destroysLater: boolean): Promise<void> {
  const dataset = getDataset(nas, snapshot.dataset);
  const refuse = (why: string) =>
    new CallError(`Failed to rollback snapshot: cannot rollback to '${snapshot.id}': ${why}`);
  const later = snapshotsOf(nas, dataset.id).filter(({ transaction }) => transaction > snapshot.transaction);
  if (later.length > 0 && !destroysLater) throw refuse('more recent snapshots or bookmarks exist');
  // Here a guest keeps the same file open; the real behaviour is not simulated.
  if (dataset.type === 'VOLUME' && isOpenInVm(nas, zvolPath(dataset.id))) throw refuse('dataset is busy');
  for (const one of later) await destroySnapshot(nas, one);
  await restoreContent(nas, snapshot, dataset);
}

async function restoreContent(nas: NasState, snapshot: NasSnapshot, dataset: NasDataset): Promise<void> {
  const at = contentOf(nas, dataset);
  if (dataset.type === 'FILESYSTEM') {
    for (const name of await readdir(at)) {
      if (!nas.datasets.has(`${dataset.id}/${name}`)) await rm(join(at, name), { recursive: true, force: true });
    }
  }
  await copyContent(nas, dataset, snapshotFolder(nas, snapshot.id), at);
}

/** The error of a dataset whose snapshots block its deletion; undefined when none does. */
export function snapshotsBlockingDeletion(
  nas: NasState,
  ids: readonly string[],
  recursive: boolean,
): CallError | undefined {
  const [first = ''] = ids;
  const kept = ids.flatMap((id) => snapshotsOf(nas, id));
  const message = `Failed to delete dataset: cannot destroy '${first}': filesystem has`;
  if (kept.length > 0 && !recursive) return new CallError(`${message} children`, errnos.ENOTEMPTY);
  const outside = [...nas.datasets.values()].filter(
    ({ id, origin }) => !ids.includes(id) && kept.some((snapshot) => snapshot.id === origin),
  );
  return outside.length > 0 ? new CallError(`${message} dependent clones`, errnos.EBUSY) : undefined;
}
