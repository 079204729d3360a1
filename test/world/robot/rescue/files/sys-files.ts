import type { ServerNic } from '../../hardware.ts';
import type { BlockDevice } from '../devices/block-device.ts';
import type { RescueSystem } from '../rescue-system.ts';
import { type FileSystemNode, newDirectory, newVirtualDirectory, newVirtualFile } from './file-nodes.ts';

/** The supported part of `/sys`. Without UEFI there is no firmware folder. */
export function sysFiles(system: RescueSystem): Record<string, FileSystemNode> {
  const { hardware, storage } = system;
  const line = (value: string | number): FileSystemNode => newVirtualFile(() => `${value}\n`);
  return {
    firmware: newVirtualDirectory(() =>
      hardware.firmware.kind === 'uefi'
        ? {
            efi: newVirtualDirectory(() => ({ efivars: newDirectory(), fw_platform_size: line(64) })),
            dmi: newVirtualDirectory(() => ({})),
          }
        : { dmi: newVirtualDirectory(() => ({})) },
    ),
    block: newVirtualDirectory(() => {
      const whole = storage.devices().filter(({ type }) => type !== 'part');
      return Object.fromEntries(whole.map((device) => [device.name, blockFiles(system, device)]));
    }),
    class: newVirtualDirectory(() => ({
      net: newVirtualDirectory(() => ({
        ...Object.fromEntries(hardware.nics.map((nic) => [nic.name, nicFiles(nic)])),
        lo: newVirtualDirectory(() => ({ address: line('00:00:00:00:00:00'), operstate: line('unknown') })),
      })),
      dmi: newVirtualDirectory(() => ({
        id: newVirtualDirectory(() => ({
          product_name: line('World Server'),
          board_vendor: line('World'),
          sys_vendor: line('World'),
        })),
      })),
    })),
  };
}

function blockFiles(system: RescueSystem, device: BlockDevice): FileSystemNode {
  const line = (value: string | number): FileSystemNode => newVirtualFile(() => `${value}\n`);
  return newVirtualDirectory(() => ({
    size: line(Math.floor(device.size / 512)),
    ro: line(0),
    removable: line(0),
    queue: newVirtualDirectory(() => ({
      rotational: line(device.isRotational ? 1 : 0),
      logical_block_size: line(device.sectorBytes),
      physical_block_size: line(device.sectorBytes),
      discard_max_bytes: line(device.isRotational ? 0 : 2199023255040),
    })),
    device: newVirtualDirectory(() => ({
      model: line(device.access?.disk.model ?? ''),
      serial: line(device.access?.disk.serial ?? ''),
    })),
    ...(device.access ? { wwid: line(system.isSettled ? device.access.disk.wwn : '') } : {}),
    holders: newVirtualDirectory(() =>
      Object.fromEntries(
        system.storage
          .childrenOf(device)
          .filter(({ type }) => type !== 'part')
          .map(({ name }) => [name, newDirectory()]),
      ),
    ),
  }));
}

function nicFiles(nic: ServerNic): FileSystemNode {
  const line = (value: string | number): FileSystemNode => newVirtualFile(() => `${value}\n`);
  return newVirtualDirectory(() => ({
    address: line(nic.mac),
    carrier: line(nic.speedMbps > 0 ? 1 : 0),
    operstate: line(nic.speedMbps > 0 ? 'up' : 'down'),
    speed: line(nic.speedMbps > 0 ? nic.speedMbps : -1),
    mtu: line(1500),
    type: line(1),
    device: newVirtualDirectory(() => ({ vendor: line('0x8086'), device: line('0x15b7') })),
  }));
}
