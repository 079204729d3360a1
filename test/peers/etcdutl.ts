import { spawnSync } from 'node:child_process';
import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { findPeer, missingPeers } from './find-peer.ts';

/** Restores a copy of a snapshot into `folder`, as a node does. Returns what etcdutl says; it throws if that refuses. */
export function restoreSnapshot(snapshot: string, folder: string): string {
  const path = findPeer('etcdutl');
  if (!path) throw new Error(missingPeers('etcdutl'));
  const copy = join(folder, 'copy.snapshot');
  copyFileSync(snapshot, copy);
  const args = ['snapshot', 'restore', copy, '--data-dir', join(folder, 'restored')];
  const { status, stdout, stderr } = spawnSync(path, args, { encoding: 'utf8', timeout: 60_000 });
  if (status !== 0) throw new Error(`etcdutl ended with ${status}: ${stderr}`);
  return `${stdout}${stderr}`;
}
