import { spawnSync } from 'node:child_process';
import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { findPeer, missingPeers } from './find-peer.ts';

/** What etcdutl reads in a snapshot. */
export interface SnapshotStatus {
  /** The last revision of an object. */
  readonly revision: number;
  readonly totalKey: number;
  /** Version of the storage, e.g. `3.6.0`. */
  readonly version: string;
}

/** Restores a copy of a snapshot into `folder`, as a node does. Returns what etcdutl says; it throws if that refuses. */
export function restoreSnapshot(snapshot: string, folder: string): string {
  const copy = join(folder, 'copy.snapshot');
  copyFileSync(snapshot, copy);
  return runEtcdutl('snapshot', 'restore', copy, '--data-dir', join(folder, 'restored'));
}

/** Checks the integrity of the database in a snapshot, but not its checksum. */
export const readSnapshotStatus = (snapshot: string): SnapshotStatus =>
  JSON.parse(runEtcdutl('snapshot', 'status', snapshot, '--write-out', 'json')) as SnapshotStatus;

function runEtcdutl(...args: string[]): string {
  const path = findPeer('etcdutl');
  if (!path) throw new Error(missingPeers('etcdutl'));
  const { status, stdout, stderr } = spawnSync(path, args, { encoding: 'utf8', timeout: 60_000 });
  if (status !== 0) throw new Error(`etcdutl ended with ${status}: ${stderr}`);
  return `${stdout}${stderr}`;
}
