import { type Dirent, existsSync, readdirSync, rmSync, statSync } from 'node:fs';
import { mkdir, open, truncate } from 'node:fs/promises';
import { dirname, join, posix } from 'node:path';
import type { FileMode, NasDataset, NasState } from '../nas-state.ts';

/** The parent dataset, or undefined for a pool's root. */
export const parentDatasetOf = (id: string): string | undefined =>
  id.includes('/') ? id.slice(0, id.lastIndexOf('/')) : undefined;
/** The pool of a dataset. */
export const poolNameOf = (id: string): string => id.split('/')[0] ?? id;
/** Spaces in a zvol's name are plus signs in its device path. */
export const zvolPath = (id: string): string => `/dev/zvol/${id.replaceAll(' ', '+')}`;
/** The zvol of a device path. */
export const zvolName = (path: string): string => path.replace(/^\/dev\/zvol\//, '').replaceAll('+', ' ');
/** The mount point of a filesystem. */
export const mountpointOf = (id: string): string => `/mnt/${id}`;

/** The local path of a path on the NAS. Zvols are sparse files. */
export function realPath(nas: NasState, path: string): string {
  if (path.startsWith('/dev/zvol/')) return join(nas.folder, 'zvol', `${zvolName(path)}.img`);
  return join(nas.folder, 'root', posix.normalize(path));
}

/** All descendants of a dataset. */
export function childrenOf(nas: NasState, id: string): NasDataset[] {
  return [...nas.datasets.values()].filter((dataset) => dataset.id.startsWith(`${id}/`));
}

/** The filesystem of a path: the longest matching mount point; undefined outside of every pool. */
export function filesystemOf(nas: NasState, path: string): NasDataset | undefined {
  const at = posix.normalize(path).replace(/^\/mnt\//, '');
  if (at === posix.normalize(path)) return undefined;
  for (let id: string | undefined = at; id !== undefined; id = parentDatasetOf(id)) {
    const dataset = nas.datasets.get(id);
    if (dataset?.type === 'FILESYSTEM') return dataset;
  }
  return undefined;
}

/** The nearest encryption root at or above the dataset. */
export function encryptionRoot(nas: NasState, dataset: NasDataset): NasDataset | undefined {
  for (let at: string | undefined = dataset.id; at !== undefined; at = parentDatasetOf(at)) {
    const candidate = nas.datasets.get(at);
    if (candidate?.encryption) return candidate;
  }
  return undefined;
}

/** Whether the key of a dataset or of its encryption root is not loaded. */
export function isLocked(nas: NasState, dataset: NasDataset): boolean {
  const root = encryptionRoot(nas, dataset);
  return root !== undefined && !root.encryption?.loaded;
}

/** Whether a path exists. A pool that was not found and a locked dataset have no paths. */
export function existsOnNas(nas: NasState, path: string): boolean {
  const isZvol = path.startsWith('/dev/zvol/');
  const at = isZvol ? zvolName(path) : posix.normalize(path).replace(/^\/mnt\//, '');
  const dataset = isZvol ? nas.datasets.get(at) : filesystemOf(nas, path);
  const isHidden = dataset !== undefined && isLocked(nas, dataset) && (isZvol || dataset.id !== at);
  return !isHidden && isImported(nas, at) && existsSync(realPath(nas, path));
}

/** Whether the pool of a dataset, or of a path without its `/mnt/`, was found when the system started. */
export const isImported = (nas: NasState, id: string): boolean => nas.pools.get(poolNameOf(id))?.status !== 'OFFLINE';

/** Whether the pool of a dataset is writable. */
export const isWritable = (nas: NasState, id: string): boolean =>
  ['ONLINE', 'DEGRADED'].includes(nas.pools.get(poolNameOf(id))?.status ?? 'ONLINE');

/** Creates the files of a dataset: a folder, or a sparse file of the volume's size. */
export async function createDatasetFiles(nas: NasState, dataset: NasDataset): Promise<void> {
  if (dataset.type === 'FILESYSTEM') {
    await mkdir(realPath(nas, mountpointOf(dataset.id)), { recursive: true });
    nas.fileMarks.set(mountpointOf(dataset.id), { mode: 0o755, uid: 0, gid: 0 });
    return;
  }
  const path = realPath(nas, zvolPath(dataset.id));
  await mkdir(dirname(path), { recursive: true });
  const handle = await open(path, 'w');
  await handle.truncate(volumeSize(dataset)).finally(() => handle.close());
}

/** Resizes the sparse file of a zvol to its volume size. */
export async function resizeVolume(nas: NasState, dataset: NasDataset): Promise<void> {
  await truncate(realPath(nas, zvolPath(dataset.id)), volumeSize(dataset));
}

/** Deletes a dataset with its files. Synchronous: no caller sees the files of a dataset that is no longer listed. */
export function removeDataset(nas: NasState, dataset: NasDataset): void {
  nas.datasets.delete(dataset.id);
  const path = dataset.type === 'VOLUME' ? zvolPath(dataset.id) : mountpointOf(dataset.id);
  rmSync(realPath(nas, path), { recursive: true, force: true });
  for (const marked of [...nas.fileMarks.keys()]) {
    if (marked === path || marked.startsWith(`${path}/`)) nas.fileMarks.delete(marked);
  }
}

/** The size of a zvol in bytes. */
export const volumeSize = (dataset: NasDataset): number => Number(dataset.properties.get('volsize') ?? 0);

/**
 * Bytes that are written in a dataset itself, without children. Synchronous: many small asynchronous reads would take
 * longer than a whole call.
 */
export function writtenBytes(nas: NasState, dataset: NasDataset): number {
  if (dataset.type === 'VOLUME') {
    const file = statSync(realPath(nas, zvolPath(dataset.id)), { throwIfNoEntry: false });
    // A new zvol is never quite empty (zfs list shows 56K).
    return Math.max((file?.blocks ?? 0) * 512, 56 * 1024);
  }
  return folderBytes(nas, mountpointOf(dataset.id)) + 96 * 1024;
}

/** 0 if the file does not exist: another call may create or delete it concurrently. */
function listFolder(real: string): Dirent[] {
  try {
    return readdirSync(real, { withFileTypes: true });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}

function folderBytes(nas: NasState, path: string): number {
  let total = 0;
  for (const item of listFolder(realPath(nas, path))) {
    const inner = `${path}/${item.name}`;
    if (item.isDirectory()) {
      const isMount = nas.datasets.get(inner.slice('/mnt/'.length))?.type === 'FILESYSTEM';
      if (!isMount) total += folderBytes(nas, inner);
    } else total += statSync(realPath(nas, inner), { throwIfNoEntry: false })?.size ?? 0;
  }
  return total;
}

/** Space of one dataset in bytes, by ZFS's rules. */
export interface DatasetSpace {
  readonly own: number;
  readonly refreservation: number;
  readonly children: number;
  readonly used: number;
  readonly available: number;
}

/** The current space of every dataset. */
export function computeSpace(nas: NasState): Map<string, DatasetSpace> {
  const own = new Map<string, number>();
  for (const dataset of nas.datasets.values()) own.set(dataset.id, writtenBytes(nas, dataset));
  const reserved = (dataset: NasDataset) =>
    Math.max(0, Number(dataset.properties.get('refreservation') ?? 0) - (own.get(dataset.id) ?? 0));
  const usedAlone = (dataset: NasDataset) => (own.get(dataset.id) ?? 0) + reserved(dataset);
  const below = new Map<string, number>();
  for (const dataset of nas.datasets.values()) {
    for (let at = parentDatasetOf(dataset.id); at !== undefined; at = parentDatasetOf(at)) {
      below.set(at, (below.get(at) ?? 0) + usedAlone(dataset));
    }
  }
  const usedBelow = (id: string) => below.get(id) ?? 0;

  const result = new Map<string, DatasetSpace>();
  for (const dataset of nas.datasets.values()) {
    const pool = nas.pools.get(poolNameOf(dataset.id));
    const root = nas.datasets.get(poolNameOf(dataset.id));
    const taken = root ? usedAlone(root) + usedBelow(root.id) : 0;
    const free = Math.max(0, usableBytes(pool?.sizeBytes ?? 0) - (pool?.ballastBytes ?? 0) - taken);
    const children = usedBelow(dataset.id);
    result.set(dataset.id, {
      own: own.get(dataset.id) ?? 0,
      refreservation: reserved(dataset),
      children,
      used: usedAlone(dataset) + children,
      available:
        withinQuotas(nas, dataset.id, free, (id) => {
          const above = nas.datasets.get(id);
          return above ? usedAlone(above) + usedBelow(id) : 0;
        }) + (dataset.type === 'VOLUME' ? reserved(dataset) : 0),
    });
  }
  return result;
}

function withinQuotas(nas: NasState, id: string, free: number, usedOf: (id: string) => number): number {
  let left = free;
  for (let at: string | undefined = id; at !== undefined; at = parentDatasetOf(at)) {
    const quota = Number(nas.datasets.get(at)?.properties.get('quota') ?? 0);
    if (quota > 0) left = Math.min(left, Math.max(0, quota - usedOf(at)));
  }
  return left;
}

/** ZFS reserves a 32nd of a pool for itself. */
export const usableBytes = (sizeBytes: number): number => sizeBytes - Math.floor(sizeBytes / 32);

/** Free bytes at a path; unlimited outside of every pool. */
export function freeBytesAt(nas: NasState, path: string): number {
  const dataset = filesystemOf(nas, path);
  if (!dataset) return Number.MAX_SAFE_INTEGER;
  return computeSpace(nas).get(dataset.id)?.available ?? 0;
}

/**
 * The reservation of a thick zvol: its size and the metadata of a fully written volume (openzfs:
 * lib/libzfs/libzfs_dataset.c, for pools without raidz).
 */
export function thickReservation(volumeBytes: number, blockBytes: number): number {
  let blocks = Math.floor(volumeBytes / blockBytes);
  let metadataBlocks = 7;
  while (blocks > 1) {
    blocks = Math.floor((blocks + 1023) / 1024);
    metadataBlocks += blocks;
  }
  return volumeBytes + metadataBlocks * 2 * 131072;
}

const defaultFileMode = (isFolder: boolean): FileMode => ({ mode: isFolder ? 0o755 : 0o644, uid: 0, gid: 0 });

/** Owner and mode of a path; the default owner is root, as in the middleware. */
export function fileModeOf(nas: NasState, path: string, isFolder: boolean): FileMode {
  return nas.fileMarks.get(posix.normalize(path)) ?? defaultFileMode(isFolder);
}

/** Whether a running machine has this zvol or file open. */
export function isOpenInVm(nas: NasState, path: string): boolean {
  const real = realPath(nas, path);
  return [...nas.vms.values()].some((vm) => vm.guest?.paths.includes(real));
}
