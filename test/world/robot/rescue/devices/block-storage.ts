import { type PartitionTable, readPartitionTable } from '../../../disk-format/partition-table.ts';
import { readLvmGroup, readRaidMember } from '../../../disk-format/volume-members.ts';
import { type DiskAccess, openDiskAccess } from '../../disks/disk-access.ts';
import type { DiskWrite, ServerHardware } from '../../hardware.ts';
import { Errno } from '../io/errno.ts';
import { type BlockDevice, deviceWindow } from './block-device.ts';

/** A running array. */
export interface RunningArray {
  /** E.g. `md0`. */
  readonly name: string;
  readonly uuid: string;
  /** As in the superblocks, e.g. `rescue:0`. */
  readonly title: string;
  readonly level: number;
  readonly wanted: number;
  /** Names of the devices. */
  readonly members: readonly string[];
}

/** A detected volume group. */
export interface VolumeGroup {
  readonly name: string;
  readonly physical: readonly string[];
  readonly active: boolean;
}

/**
 * The block devices of a server. The kernel's partition list is the one it read last. Arrays and volume groups are
 * assembled at boot, and hold their members until they are stopped.
 */
export class BlockStorage {
  readonly disks: readonly DiskAccess[];
  /** Mounted devices, by name: the root of an installed system. */
  readonly mounted = new Set<string>();
  #tables = new Map<string, PartitionTable | undefined>();
  #arrays: RunningArray[] = [];
  #inactive = new Set<string>();
  /** The range does not read as zeros: TRIM is advisory, and the drive may keep the data. */
  readonly keepsTrimmed: (serial: string) => boolean;

  constructor(
    hardware: ServerHardware,
    serverNumber: number,
    onWrite: (write: DiskWrite) => void,
    keepsTrimmed: (serial: string) => boolean = () => false,
  ) {
    this.keepsTrimmed = keepsTrimmed;
    this.disks = hardware.disks.map((disk) => openDiskAccess(disk, serverNumber, onWrite));
    for (const access of this.disks) this.readTable(access.disk.name);
    this.assemble();
  }

  get arrays(): readonly RunningArray[] {
    return this.#arrays;
  }

  /** All current devices, disks with their partitions first. */
  devices(): BlockDevice[] {
    const found: BlockDevice[] = [];
    for (const [index, access] of this.disks.entries()) {
      const disk = this.#disk(access, index);
      found.push(disk, ...this.#partitions(disk));
    }
    for (const array of this.#arrays) found.push(this.#array(array, found));
    for (const [index, group] of this.groups(found).entries()) {
      if (group.active) found.push(...this.#volume(group, index, found));
    }
    return found;
  }

  find(name: string): BlockDevice | undefined {
    return this.devices().find((device) => device.name === name);
  }

  /** The devices directly on a device. */
  childrenOf(device: BlockDevice, devices = this.devices()): BlockDevice[] {
    return devices.filter((one) => one.parents.some((parent) => parent.name === device.name));
  }

  /** An array, a volume group or a mounted file system uses the device or a part of it. */
  isHeld(device: BlockDevice, devices = this.devices()): boolean {
    if (this.mounted.has(device.name)) return true;
    return this.childrenOf(device, devices).some((child) => child.type !== 'part' || this.isHeld(child, devices));
  }

  /** The kernel rereads a disk's table. Throws EBUSY while one of its partitions is in use. */
  readTable(name: string): void {
    const access = this.disks.find(({ disk }) => disk.name === name);
    if (!access) throw new Errno('ENOTTY');
    const { disk, read } = access;
    if (this.#tables.has(name)) {
      const device = this.find(name);
      if (device && this.isHeld(device)) throw new Errno('EBUSY');
    }
    this.#tables.set(name, readPartitionTable(read, disk.sizeBytes, disk.sectorBytes));
  }

  /** Assembles arrays that are detected and not running. Returns the new ones. */
  assemble(): RunningArray[] {
    const devices = this.devices();
    const found = new Map<string, RunningArray & { members: string[] }>();
    for (const device of devices) {
      if (device.type === 'raid1' || device.type === 'lvm' || this.isHeld(device, devices)) continue;
      const member = readRaidMember(device.read(4096, 512));
      if (!member || this.#arrays.some(({ uuid }) => uuid === member.arrayUuid)) continue;
      const known = found.get(member.arrayUuid);
      if (known) known.members.push(device.name);
      else {
        const name = this.#arrayName(member.name, [...found.values()]);
        const { arrayUuid: uuid, name: title, level, members: wanted } = member;
        found.set(uuid, { name, uuid, title, level, wanted, members: [device.name] });
      }
    }
    this.#arrays.push(...found.values());
    return [...found.values()];
  }

  /** Throws EBUSY while the device is in use. */
  stop(array: RunningArray): void {
    const device = this.find(array.name);
    if (device && this.isHeld(device)) throw new Errno('EBUSY');
    this.#arrays = this.#arrays.filter((one) => one !== array);
  }

  groups(devices = this.devices()): VolumeGroup[] {
    const found = new Map<string, string[]>();
    for (const device of devices) {
      if (device.type === 'lvm') continue;
      if (!/^LABELONE[\s\S]{16}LVM2 001/.test(device.read(512, 32).toString('latin1'))) continue;
      const group = readLvmGroup(device.read);
      if (group !== undefined) found.set(group, [...(found.get(group) ?? []), device.name]);
    }
    return [...found].map(([name, physical]) => ({ name, physical, active: !this.#inactive.has(name) }));
  }

  deactivate(group: string): void {
    this.#inactive.add(group);
  }

  /** `0` of the rescue system's own arrays is `md0`; other arrays are numbered downwards from the highest number. */
  #arrayName(title: string, others: readonly RunningArray[]): string {
    const own = /^rescue:(\d+)$/.exec(title)?.[1];
    const taken = new Set([...this.#arrays, ...others].map(({ name }) => name));
    if (own !== undefined && !taken.has(`md${own}`)) return `md${own}`;
    let number = 127;
    while (taken.has(`md${number}`)) number -= 1;
    return `md${number}`;
  }

  #disk(access: DiskAccess, index: number): BlockDevice {
    const { disk } = access;
    const { name, sizeBytes: size, sectorBytes } = disk;
    const isNvme = disk.bus === 'nvme';
    const discard: BlockDevice['discard'] = (offset, length, by) => {
      if (this.keepsTrimmed(disk.serial)) return;
      access.discard(offset, length, by);
    };
    return {
      ...{ name, size, sectorBytes, access, read: access.read, write: access.write, discard },
      type: 'disk',
      major: isNvme ? 259 : 8,
      minor: isNvme ? index * 16 : index * 16,
      parents: [],
      isRotational: disk.rotational,
    };
  }

  #partitions(disk: BlockDevice): BlockDevice[] {
    const table = this.#tables.get(disk.name);
    if (!table) return [];
    const fits = table.partitions.filter(({ offset, bytes }) => offset + bytes <= disk.size);
    return fits.map((partition) => ({
      ...deviceWindow(disk, partition.offset, partition.bytes),
      name: `${disk.name}${/\d$/.test(disk.name) ? 'p' : ''}${partition.number}`,
      type: 'part',
      size: partition.bytes,
      sectorBytes: disk.sectorBytes,
      major: disk.major,
      minor: disk.minor + partition.number,
      parents: [disk],
      partition,
      table,
      isRotational: disk.isRotational,
    }));
  }

  /** A mirror: reads from its first member, writes to all of them. */
  #array(array: RunningArray, devices: readonly BlockDevice[]): BlockDevice {
    const parents = devices.filter(({ name }) => array.members.includes(name));
    const dataOffset = 2048 * 512;
    const size = Math.max(0, Math.min(...parents.map((parent) => parent.size)) - dataOffset);
    const windows = parents.map((parent) => deviceWindow(parent, dataOffset, size));
    return {
      name: array.name,
      type: 'raid1',
      size,
      sectorBytes: parents[0]?.sectorBytes ?? 512,
      major: 9,
      minor: Number(array.name.slice(2)),
      parents,
      read: (offset, length) => windows[0]?.read(offset, length) ?? Buffer.alloc(0),
      write: (offset, bytes, by) => {
        for (const one of windows) one.write(offset, bytes, by);
      },
      discard: (offset, length, by) => {
        for (const one of windows) one.discard(offset, length, by);
      },
      isRotational: parents.some((parent) => parent.isRotational),
    };
  }

  #volume(group: VolumeGroup, index: number, devices: readonly BlockDevice[]): BlockDevice[] {
    const parents = devices.filter(({ name }) => group.physical.includes(name));
    const [first] = parents;
    if (!first) return [];
    const size = Math.max(0, Math.floor((first.size - 2 ** 20) / 4194304) * 4194304);
    return [
      {
        ...deviceWindow(first, 2 ** 20, size),
        name: `dm-${index}`,
        type: 'lvm',
        size,
        sectorBytes: first.sectorBytes,
        major: 253,
        minor: index,
        parents,
        volume: { group: group.name, name: 'data' },
        isRotational: first.isRotational,
      },
    ];
  }
}
