import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findPeer, missingPeers } from './find-peer.ts';

/** The path of the real program. Throws if it is missing. */
export function agePath(): string {
  const path = findPeer('age');
  if (!path) throw new Error(missingPeers('age'));
  return path;
}

/** The content in clear. Throws what age says if it refuses. */
export function decryptWithAge(identity: string, encrypted: Uint8Array): Buffer {
  const folder = mkdtempSync(join(tmpdir(), 'age-'));
  try {
    const file = join(folder, 'identity');
    writeFileSync(file, `${identity}\n`, { mode: 0o600 });
    const { status, stdout, stderr } = spawnSync(agePath(), ['--decrypt', '--identity', file], {
      input: encrypted,
      maxBuffer: 2 ** 30,
      timeout: 60_000,
    });
    if (status !== 0) throw new Error(stderr.toString());
    return stdout;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
