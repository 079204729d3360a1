import { readAt } from '../../disk-format/sparse-file.ts';
import { kernelProblem, readPartition } from '../../talos/boot/disk-partitions.ts';
import type { ServerDisk } from '../hardware.ts';
import type { BootableSystem } from './disk-content.ts';
import { readLinux } from './linux-disk.ts';

export type { BootableSystem, DiskContent, LinuxSystem } from './disk-content.ts';
export { fillDisk } from './fill-disk.ts';

/**
 * The system that the firmware finds on a disk, from the bytes alone. Undefined: no loader that this firmware starts.
 */
export function findBootableSystem(disk: ServerDisk, firmware: 'uefi' | 'bios'): BootableSystem | undefined {
  const linux = readLinux(disk, (offset, length) => readAt(disk.path, offset, length), firmware);
  if (linux) return { kind: 'linux', ...linux };
  // Images are made for sectors of 512 bytes: with other sectors their table is at the wrong offset.
  if (disk.sectorBytes !== 512) return undefined;
  const boot = readPartition(disk.path, 'BOOT');
  if (!boot || (boot.firmware !== 'any' && boot.firmware !== firmware)) return undefined;
  return kernelProblem(disk.path, boot) === undefined ? { kind: 'talos' } : undefined;
}
