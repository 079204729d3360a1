import type { RescueSystem } from '../rescue-system.ts';
import { type FileSystemNode, newVirtualDirectory, newVirtualFile } from './file-nodes.ts';

/** The supported part of `/proc`. */
export const processFiles = (system: RescueSystem): Record<string, FileSystemNode> => ({
  cpuinfo: newVirtualFile(() => cpuInfo(system)),
  // The kernel reserves a little for itself.
  meminfo: newVirtualFile(
    () => `MemTotal:       ${String(Math.floor(system.memoryMiB * 1024 * 0.985)).padStart(9)} kB\n`,
  ),
  mdstat: newVirtualFile(() => system.storage.arrays.map(({ name }) => `${name} : active raid1\n`).join('')),
  uptime: newVirtualFile(() => `${system.uptimeSeconds.toFixed(2)} 0.00\n`),
  sys: newVirtualDirectory(() => ({
    kernel: newVirtualDirectory(() => ({
      hostname: newVirtualFile(() => `${system.hostname}\n`),
      random: newVirtualDirectory(() => ({ boot_id: newVirtualFile(() => `${system.bootId}\n`) })),
    })),
  })),
});

const cpuInfo = ({ hardware: { cpu } }: RescueSystem): string =>
  Array.from({ length: cpu.threads }, (_, index) => `processor\t: ${index}\nmodel name\t: ${cpu.model}\n\n`).join('');

export interface Mount {
  readonly source: string;
  readonly target: string;
  readonly type: string;
}

/** All mounts, the root first. */
export const mountList = ({ rootDevice, mounts }: RescueSystem): readonly Mount[] => [
  rootDevice
    ? { source: `/dev/${rootDevice}`, target: '/', type: 'ext4' }
    : { source: 'rescue', target: '/', type: 'tmpfs' },
  ...[...mounts].map(([target, { device, type }]) => ({ source: device, target, type })),
];
