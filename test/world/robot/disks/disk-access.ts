import { discardFile, isZero, readAt, writeAt } from '../../disk-format/sparse-file.ts';
import type { DiskWrite, ServerDisk } from '../hardware.ts';

/** A running system's access to a disk: every write is recorded in the ledger before its bytes. */
export interface DiskAccess {
  readonly disk: ServerDisk;
  read(offset: number, length: number): Buffer;
  /** Throws a RangeError beyond the end of the disk. `by` names the program. */
  write(offset: number, bytes: Buffer, by: string): void;
  /** TRIM: the range reads as zeros afterwards. */
  discard(offset: number, length: number, by: string): void;
}

/** Opens the disks of one server. */
export function openDiskAccess(
  disk: ServerDisk,
  serverNumber: number,
  onWrite: (write: DiskWrite) => void,
): DiskAccess {
  const note = (offset: number, length: number, by: string): void => {
    if (offset < 0 || offset + length > disk.sizeBytes) throw new RangeError(`${disk.name} ends before that`);
    onWrite({ serverNumber, serial: disk.serial, offset, length, by });
  };
  const { path } = disk;
  return {
    disk,
    read: (offset, length) => readAt(path, offset, Math.max(0, Math.min(length, disk.sizeBytes - offset))),
    write: (offset, bytes, by) => {
      note(offset, bytes.length, by);
      writeAt(path, offset, bytes);
    },
    discard: (offset, length, by) => {
      note(offset, length, by);
      if (offset === 0 && length === disk.sizeBytes) discardFile(path);
      else clearRange(path, offset, length);
    },
  };
}

const step = 4 * 2 ** 20;

function clearRange(path: string, offset: number, length: number): void {
  for (let at = offset; at < offset + length; at += step) {
    const size = Math.min(step, offset + length - at);
    if (!isZero(readAt(path, at, size))) writeAt(path, at, Buffer.alloc(size));
  }
}
