import type { Nic } from '../../hardware.ts';
import type { BlockDevice } from '../devices/block-device.ts';
import type { System } from '../system.ts';
import { directory, type Node, view, virtual } from './nodes.ts';

/** `/sys`, as far as somebody may ask. Without UEFI there is nothing of a firmware. */
export function systemFiles(system: System): Record<string, Node> {
  const { hardware, storage } = system;
  const line = (value: string | number): Node => virtual(() => `${value}\n`);
  return {
    firmware: view(() =>
      hardware.firmware.kind === 'uefi'
        ? { efi: view(() => ({ efivars: directory(), fw_platform_size: line(64) })), dmi: view(() => ({})) }
        : { dmi: view(() => ({})) },
    ),
    block: view(() => {
      const whole = storage.devices().filter(({ type }) => type !== 'part');
      return Object.fromEntries(whole.map((device) => [device.name, blockFiles(system, device)]));
    }),
    class: view(() => ({
      net: view(() => ({
        ...Object.fromEntries(hardware.nics.map((nic) => [nic.name, nicFiles(nic)])),
        lo: view(() => ({ address: line('00:00:00:00:00:00'), operstate: line('unknown') })),
      })),
      dmi: view(() => ({
        id: view(() => ({
          product_name: line('World Server'),
          board_vendor: line('World'),
          sys_vendor: line('World'),
        })),
      })),
    })),
  };
}

function blockFiles(system: System, device: BlockDevice): Node {
  const line = (value: string | number): Node => virtual(() => `${value}\n`);
  return view(() => ({
    size: line(Math.floor(device.size / 512)),
    ro: line(0),
    removable: line(0),
    queue: view(() => ({
      rotational: line(device.isRotational ? 1 : 0),
      logical_block_size: line(device.sectorBytes),
      physical_block_size: line(device.sectorBytes),
      discard_max_bytes: line(device.isRotational ? 0 : 2199023255040),
    })),
    device: view(() => ({
      model: line(device.access?.disk.model ?? ''),
      serial: line(device.access?.disk.serial ?? ''),
    })),
    ...(device.access ? { wwid: line(system.isSettled ? device.access.disk.wwn : '') } : {}),
    holders: view(() =>
      Object.fromEntries(
        system.storage
          .childrenOf(device)
          .filter(({ type }) => type !== 'part')
          .map(({ name }) => [name, directory()]),
      ),
    ),
  }));
}

function nicFiles(nic: Nic): Node {
  const line = (value: string | number): Node => virtual(() => `${value}\n`);
  return view(() => ({
    address: line(nic.mac),
    carrier: line(nic.speedMbps > 0 ? 1 : 0),
    operstate: line(nic.speedMbps > 0 ? 'up' : 'down'),
    speed: line(nic.speedMbps > 0 ? nic.speedMbps : -1),
    mtu: line(1500),
    type: line(1),
    device: view(() => ({ vendor: line('0x8086'), device: line('0x15b7') })),
  }));
}
