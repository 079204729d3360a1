import type { ServerNic } from '../../hardware.ts';
import type { RescueSystem } from '../rescue-system.ts';
import { type FileSystemNode, newDirectory, newVirtualDirectory, newVirtualFile } from './file-nodes.ts';

/** The supported part of `/sys`. Without UEFI there is no folder of the firmware. */
export const sysFiles = ({ hardware }: RescueSystem): Record<string, FileSystemNode> => ({
  firmware: newVirtualDirectory(() => (hardware.firmware.kind === 'uefi' ? { efi: newDirectory() } : {})),
  class: newVirtualDirectory(() => ({
    net: newVirtualDirectory(() => ({
      ...Object.fromEntries(hardware.nics.map((nic) => [nic.name, nicFiles(nic)])),
      lo: newVirtualDirectory(() => ({ address: line('00:00:00:00:00:00') })),
    })),
  })),
});

const line = (value: string | number): FileSystemNode => newVirtualFile(() => `${value}\n`);

const nicFiles = ({ mac, speedMbps }: ServerNic): FileSystemNode =>
  newVirtualDirectory(() => ({
    address: line(mac),
    carrier: line(speedMbps > 0 ? 1 : 0),
    speed: line(speedMbps > 0 ? speedMbps : -1),
    device: newDirectory(),
  }));
