import type { ReadAt } from '../../../disk-format/gpt.ts';
import type { PartitionTable, TablePartition } from '../../../disk-format/partition-table.ts';
import type { RaidMember } from '../../../disk-format/volume-members.ts';
import type { DiskAccess } from '../../disks/disk-access.ts';
import type { OpenMode } from '../files/file-nodes.ts';
import { Errno } from '../io/errno.ts';
import type { OpenFile } from '../io/open-file.ts';

/** A block device of the kernel: a disk, a partition, an array or a logical volume. */
export interface BlockDevice {
  /** E.g. `nvme0n1p1`, `md0`, `dm-0`. */
  readonly name: string;
  readonly type: 'disk' | 'part' | 'raid1' | 'lvm';
  readonly size: number;
  readonly sectorBytes: number;
  readonly major: number;
  readonly minor: number;
  /** The underlying devices. */
  readonly parents: readonly BlockDevice[];
  readonly read: ReadAt;
  /** `by` names the program. */
  write(offset: number, bytes: Buffer, by: string): void;
  discard(offset: number, length: number, by: string): void;
  /** Of a disk. */
  readonly access?: DiskAccess;
  /** Of a partition, and its table. */
  readonly partition?: TablePartition;
  readonly table?: PartitionTable;
  readonly array?: RaidMember;
  /** Of a logical volume. */
  readonly volume?: { readonly group: string; readonly name: string };
  readonly isRotational: boolean;
}

/** Opens a device. Writing is refused while the device is in use; `isHeld` reports that at the time of the call. */
export function openBlockDevice(device: BlockDevice, mode: OpenMode, isHeld: boolean): OpenFile {
  if (mode.write && isHeld) throw new Errno('EBUSY');
  let position = 0;
  return {
    node: device,
    read: async (max) => {
      const bytes = device.read(position, Math.max(0, Math.min(max, device.size - position)));
      position += bytes.length;
      return bytes;
    },
    write: async (bytes) => {
      if (!mode.write) throw new Errno('EBADF');
      const fits = bytes.subarray(0, Math.max(0, device.size - position));
      if (fits.length > 0) device.write(position, fits, mode.by ?? 'unknown');
      position += fits.length;
      if (fits.length < bytes.length) throw new Errno('ENOSPC');
    },
    seek: (offset) => {
      position = offset;
    },
  };
}

/** A range of a device as a separate device. */
export function deviceWindow(
  base: BlockDevice,
  offset: number,
  size: number,
): Pick<BlockDevice, 'read' | 'write' | 'discard'> {
  const within = (at: number, length: number): void => {
    if (at < 0 || at + length > size) throw new Errno('ENOSPC');
  };
  return {
    read: (at, length) => base.read(offset + at, Math.max(0, Math.min(length, size - at))),
    write: (at, bytes, by) => {
      within(at, bytes.length);
      base.write(offset + at, bytes, by);
    },
    discard: (at, length, by) => {
      within(at, length);
      base.discard(offset + at, length, by);
    },
  };
}
