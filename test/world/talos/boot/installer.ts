import type { MachineDescription } from '../../machine-runner/machine.ts';
import { textAt } from '../config/fields.ts';
import type { TalosNode } from '../node.ts';
import {
  diskFileBytes,
  eraseTalosDisk,
  type InstalledSystem,
  minimumDiskBytes,
  writePartition,
} from './disk-partitions.ts';

/** The disk that the configuration names, by path or by selector. Throws the installer's error when there is none. */
export function findInstallDisk(node: TalosNode): MachineDescription['disks'][number] {
  const install = node.config?.view.install;
  const disks = [...node.machine.disks].sort((a, b) => a.order - b.order);
  if (!install || (install.disk === '' && Object.keys(install.diskSelector).length === 0)) {
    throw new Error('failed to install: no install disk is configured');
  }
  const found = install.disk
    ? disks.find((disk) => devicePaths(disk, disks).includes(install.disk))
    : disks.find((disk) => diskMatchesSelector(disk, install.diskSelector));
  if (!found) {
    const wanted = install.disk || 'install.diskSelector';
    throw new Error(`failed to install: stat ${wanted}: no such file or directory`);
  }
  if (diskFileBytes(found.path) < minimumDiskBytes)
    throw new Error(`failed to install: disk ${defaultDeviceName(found, disks)} is too small`);
  return found;
}

const letters = 'abcdefghijklmnopqrstuvwxyz';

/** Kernel name: `vda` for virtio, `sda` for SATA, `nvme0n1`; counted by bus. */
export function deviceName(disk: MachineDescription['disks'][number], disks: MachineDescription['disks']): string {
  if (disk.kernelName !== undefined) return disk.kernelName;
  const index = [...disks]
    .sort((a, b) => a.order - b.order)
    .filter((one) => one.bus === disk.bus)
    .indexOf(disk);
  if (disk.bus === 'nvme') return `nvme${index}n1`;
  return `${disk.bus === 'virtio' ? 'vd' : 'sd'}${letters[index] ?? 'z'}`;
}

const defaultDeviceName = (disk: MachineDescription['disks'][number], disks: MachineDescription['disks']): string =>
  `/dev/${deviceName(disk, disks)}`;

function devicePaths(disk: MachineDescription['disks'][number], disks: MachineDescription['disks']): string[] {
  return [defaultDeviceName(disk, disks), ...byIdNames(disk).map((name) => `/dev/disk/by-id/${name}`)];
}

/** The names of udev's rules for a whole disk: by model and serial, and by the drive's WWN or EUI. */
function byIdNames({ bus, serial, model, wwn }: MachineDescription['disks'][number]): string[] {
  const prefix = { virtio: 'virtio-', sata: 'ata-', nvme: 'nvme-' }[bus];
  const usual = { virtio: '', sata: 'QEMU_HARDDISK_', nvme: 'QEMU_NVMe_Ctrl_' }[bus];
  const named = `${prefix}${model === undefined ? usual : `${model.trim().replaceAll(/\s+/g, '_')}_`}${serial}`;
  const worldwide = wwn ? [bus === 'nvme' ? `nvme-${wwn}` : `wwn-${wwn}`] : [];
  return [named, ...(bus === 'nvme' ? [`${named}_1`] : []), ...worldwide];
}

/** `install.diskSelector`: serial, type and size; the first match is used. */
export function diskMatchesSelector(
  disk: MachineDescription['disks'][number],
  selector: Readonly<Record<string, unknown>>,
): boolean {
  const serial = textAt(selector, 'serial');
  if (serial !== '' && !glob(serial, disk.serial)) return false;
  const model = textAt(selector, 'model');
  if (model !== '' && !glob(model, disk.model ?? '')) return false;
  const wwid = textAt(selector, 'wwid');
  if (wwid !== '' && !glob(wwid, wwidOf(disk))) return false;
  const type = textAt(selector, 'type');
  if (type === 'nvme' && disk.bus !== 'nvme') return false;
  if (type === 'hdd' && disk.rotational === false) return false;
  const size = textAt(selector, 'size');
  return size === '' || sizeMatches(disk.sizeBytes, size);
}

/** As in `Disks`: NVMe drives by their EUI, others by their NAA. */
export const wwidOf = ({ wwn }: MachineDescription['disks'][number]): string => wwn?.replace(/^0x/, 'naa.') ?? '';

const glob = (pattern: string, text: string): boolean =>
  new RegExp(
    `^${pattern
      .replace(/[.+^${}()|[\]\\]/g, '\\$&')
      .replaceAll('*', '.*')
      .replaceAll('?', '.')}$`,
  ).test(text);

function sizeMatches(bytes: number, rule: string): boolean {
  const match = /^\s*(<=|>=|<|>|==)?\s*([\d.]+)\s*([KMGT]?)(i?)B?\s*$/i.exec(rule);
  if (!match) return false;
  const [, operator = '==', amount = '0', unit = '', binary = ''] = match;
  const base = binary ? 1024 : 1000;
  const wanted = Number(amount) * base ** ['', 'K', 'M', 'G', 'T'].indexOf(unit.toUpperCase());
  const compare: Record<string, boolean> = {
    '<=': bytes <= wanted,
    '>=': bytes >= wanted,
    '<': bytes < wanted,
    '>': bytes > wanted,
    '==': bytes === wanted,
  };
  return compare[operator] ?? false;
}

/** Writes the boot loader with its first system. */
export function writeBootPartition(node: TalosNode, path: string, system: InstalledSystem): void {
  writePartition(path, 'BOOT', { ...system, arch: node.image.arch, firmware: node.machine.firmware });
}

/** A fresh partition table with META. STATE follows with the configuration. */
export function createPartitionTable(path: string): void {
  eraseTalosDisk(path);
  writePartition(path, 'META', { tags: {} });
}
