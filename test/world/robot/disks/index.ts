import { readAt } from '../../disk-format/sparse-file.ts';
import { kernelTrouble, readPartition } from '../../talos/disk.ts';
import type { Disk } from '../hardware.ts';
import type { Bootable } from './content.ts';
import { readLinux } from './linux.ts';

export type { Bootable, DiskContent, LinuxSystem } from './content.ts';
export { fill } from './fill.ts';

/** What the firmware finds on a disk: from the bytes alone. Undefined: no loader that this firmware starts. */
export function bootable(disk: Disk, firmware: 'uefi' | 'bios'): Bootable | undefined {
  const linux = readLinux(disk, (offset, length) => readAt(disk.path, offset, length), firmware);
  if (linux) return { kind: 'linux', ...linux };
  // Images are made for sectors of 512 bytes: their table is not where other disks have it.
  if (disk.sectorBytes !== 512) return undefined;
  const boot = readPartition(disk.path, 'BOOT');
  if (!boot || (boot.firmware !== 'any' && boot.firmware !== firmware)) return undefined;
  return kernelTrouble(disk.path, boot) === undefined ? { kind: 'talos' } : undefined;
}
