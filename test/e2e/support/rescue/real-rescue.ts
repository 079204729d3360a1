import { execFile, spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { makeSshKey } from '../../../world/robot/setup/ssh-key.ts';

const run = promisify(execFile);
const tools =
  'unshare losetup partx lsblk blkid wipefs blockdev sgdisk pvcreate vgcreate pvs mkfs.xfs mkfs.ext4 mkfs.vfat mkfs.btrfs mkswap zstd xz curl flock setsid findmnt sshd ssh-keygen'.split(
    ' ',
  );

/** The reason why this machine cannot simulate a rescue system with its own tools, in a sentence; undefined: none. */
export function missingForRealRescue(more: readonly string[] = []): string | undefined {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return 'Loop devices and mounts need root on Linux.';
  const found = (tool: string): boolean =>
    spawnSync('sh', ['-c', 'PATH=$PATH:/usr/sbin:/sbin command -v "$1"', 'sh', tool]).status === 0;
  const missing = [...tools, ...more].filter((tool) => !found(tool));
  if (missing.length > 0) return `This machine lacks ${missing.join(', ')}.`;
  const may = spawnSync('sh', ['-c', 'unshare --mount --net --pid --uts --fork true && losetup -f'], {
    encoding: 'utf8',
  });
  return may.status === 0 ? undefined : `This machine gives no loop devices or namespaces: ${may.stderr.trim()}`;
}

/**
 * Runs the rescue system in namespaces of its own, with the content of `folder` (see `real-rescue.sh`), and beside it
 * `visit`, a program of ours that gets the file of the private key and then `args`. Returns the program's output.
 */
export async function runBesideRealRescue(
  folder: string,
  visit: string,
  args: readonly string[],
  seconds: number,
): Promise<string> {
  const key = makeSshKey();
  const keyFile = join(folder, 'private');
  writeFileSync(join(folder, 'key'), `${key.public}\n`);
  writeFileSync(keyFile, key.private);
  const { stdout } = await run(
    'unshare',
    [
      ...['--mount', '--net', '--pid', '--uts', '--fork', '--kill-child', '--propagation', 'private'],
      ...['bash', join(import.meta.dirname, 'real-rescue.sh'), folder],
      ...[process.execPath, '--import', 'tsx', visit, keyFile, ...args],
    ],
    { timeout: seconds * 1000 },
  );
  return stdout;
}
