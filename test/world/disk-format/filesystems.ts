import { createHash } from 'node:crypto';
import { crc32c } from './checksums.ts';
import type { PlacedBytes } from './gpt.ts';

/** The contents of a superblock. */
export interface FilesystemIdentity {
  readonly label: string;
  /** With dashes; formats with shorter identifiers take its first bytes. */
  readonly uuid: string;
}

/** A UUID derived from a text, so that the same disk always has the same bytes. */
export function uuidFromText(text: string): string {
  const hex = createHash('sha256').update(text).digest('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}

export const uuidBytes = (uuid: string): Buffer => Buffer.from(uuid.replaceAll('-', ''), 'hex');

/** The superblock of ext4 with a journal and extents (linux: fs/ext4/ext4.h). */
export function ext4({ label, uuid }: FilesystemIdentity, bytes: number): PlacedBytes[] {
  const block = Buffer.alloc(1024);
  block.writeUInt32LE(Math.floor(bytes / 16384), 0);
  block.writeUInt32LE(Math.min(Math.floor(bytes / 4096), 0xffffffff), 4);
  block.writeUInt32LE(2, 24); // blocks of 4 KiB
  block.writeUInt32LE(2, 28);
  block.writeUInt32LE(32768, 32);
  block.writeUInt32LE(8192, 40);
  block.writeUInt16LE(0xef53, 56);
  block.writeUInt16LE(1, 58);
  block.writeUInt32LE(1, 76);
  block.writeUInt16LE(256, 88);
  block.writeUInt32LE(0x3c, 92); // has_journal and others
  block.writeUInt32LE(0x242, 96); // filetype, extents, flex_bg
  uuidBytes(uuid).copy(block, 104);
  block.write(label.slice(0, 16), 120, 'utf8');
  return [{ offset: 1024, bytes: block }];
}

/** The superblock of XFS, version 4: without a checksum (linux: fs/xfs/libxfs/xfs_format.h). */
export function xfs({ label, uuid }: FilesystemIdentity, bytes: number): PlacedBytes[] {
  const block = Buffer.alloc(512);
  const blocks = Math.max(64, Math.floor(bytes / 4096));
  block.write('XFSB', 0, 'latin1');
  block.writeUInt32BE(4096, 4);
  block.writeBigUInt64BE(BigInt(blocks), 8);
  uuidBytes(uuid).copy(block, 32);
  block.writeUInt32BE(1, 80);
  block.writeUInt32BE(Math.min(blocks, 0xffffffff), 84);
  block.writeUInt32BE(1, 88);
  block.writeUInt16BE(0x0004, 100);
  block.writeUInt16BE(512, 102);
  block.writeUInt16BE(512, 104);
  block.writeUInt16BE(8, 106);
  block.write(label.slice(0, 12), 108, 'utf8');
  block.set([12, 9, 9, 3, 20, 0, 0, 25], 120);
  return [{ offset: 0, bytes: block }];
}

/** The superblock of btrfs at 64 KiB (linux: fs/btrfs). */
export function btrfs({ label, uuid }: FilesystemIdentity, bytes: number): PlacedBytes[] {
  const block = Buffer.alloc(4096);
  uuidBytes(uuid).copy(block, 0x20);
  block.writeBigUInt64LE(0x10000n, 0x30);
  block.writeBigUInt64LE(1n, 0x38);
  block.write('_BHRfS_M', 0x40, 'latin1');
  block.writeBigUInt64LE(BigInt(bytes), 0x70);
  block.writeBigUInt64LE(1n, 0x88);
  block.writeUInt32LE(4096, 0x90);
  block.writeUInt32LE(16384, 0x94);
  uuidBytes(uuidFromText(`${uuid} device`)).copy(block, 0xc9 + 66);
  block.write(label.slice(0, 255), 0x12b, 'utf8');
  block.writeUInt32LE(crc32c(block.subarray(0x20)), 0);
  return [{ offset: 0x10000, bytes: block }];
}

/** A swap area with pages of 4 KiB. */
export function swap({ label, uuid }: FilesystemIdentity, bytes: number): PlacedBytes[] {
  const block = Buffer.alloc(4096);
  block.writeUInt32LE(1, 1024);
  block.writeUInt32LE(Math.min(Math.floor(bytes / 4096) - 1, 0xffffffff), 1028);
  uuidBytes(uuid).copy(block, 1036);
  block.write(label.slice(0, 16), 1052, 'utf8');
  block.write('SWAPSPACE2', 4086, 'latin1');
  return [{ offset: 0, bytes: block }];
}

/** The first header of LUKS2 (cryptsetup: LUKS2 on-disk format). */
export function luks({ label, uuid }: FilesystemIdentity): PlacedBytes[] {
  const block = Buffer.alloc(4096);
  block.write('LUKS', 0, 'latin1');
  block.set([0xba, 0xbe, 0, 2], 4);
  block.writeBigUInt64BE(16384n, 8);
  block.writeBigUInt64BE(1n, 16);
  block.write(label.slice(0, 47), 24, 'utf8');
  block.write('sha256', 72, 'latin1');
  block.write(uuid, 168, 'latin1');
  return [{ offset: 0, bytes: block }];
}

/** The boot sector of FAT32. Its serial is the first four bytes of the UUID. */
export function vfat({ label, uuid }: FilesystemIdentity, bytes: number): PlacedBytes[] {
  const block = Buffer.alloc(512);
  block.set([0xeb, 0x58, 0x90], 0);
  block.write('mkfs.fat', 3, 'latin1');
  block.writeUInt16LE(512, 11);
  block.writeUInt8(8, 13);
  block.writeUInt16LE(32, 14);
  block.writeUInt8(2, 16);
  block.writeUInt8(0xf8, 21);
  block.writeUInt32LE(Math.min(Math.floor(bytes / 512), 0xffffffff), 32);
  block.writeUInt32LE(Math.max(1, Math.ceil(bytes / 4096 / 128)), 36);
  block.writeUInt32LE(2, 44);
  block.writeUInt16LE(1, 48);
  block.set([0x80, 0, 0x29], 64);
  uuidBytes(uuid).copy(block, 67, 0, 4);
  block.write((label || 'NO NAME').padEnd(11).slice(0, 11), 71, 'latin1');
  block.write('FAT32   ', 82, 'latin1');
  block.set([0x55, 0xaa], 510);
  const data = 512 * (32 + 2 * block.readUInt32LE(36));
  return [{ offset: 0, bytes: block }, ...(label ? [{ offset: data, bytes: fatVolumeEntry(label) }] : [])];
}

/** The volume label in the root directory. */
function fatVolumeEntry(label: string): Buffer {
  const entry = Buffer.alloc(32);
  entry.write(label.padEnd(11).slice(0, 11), 0, 'latin1');
  entry.writeUInt8(8, 11);
  return entry;
}

/** Boot sector of NTFS, and the two records of its master file table that programs look for: without a label. */
export function ntfs({ uuid }: FilesystemIdentity, bytes: number): PlacedBytes[] {
  const block = Buffer.alloc(512);
  block.set([0xeb, 0x52, 0x90], 0);
  block.write('NTFS    ', 3, 'latin1');
  block.writeUInt16LE(512, 11);
  block.writeUInt8(8, 13);
  block.writeUInt8(0xf8, 21);
  block.writeUInt32LE(0x00800080, 36);
  block.writeBigUInt64LE(BigInt(Math.floor(bytes / 512) - 1), 40);
  block.writeBigUInt64LE(4n, 48);
  block.writeBigUInt64LE(2n, 56);
  block.writeInt8(-10, 64);
  block.writeInt8(1, 68);
  uuidBytes(uuid).copy(block, 72, 0, 8);
  // The bytes at the offset of a partition table are code: this is no partition table.
  block.fill(0xf4, 84, 510);
  block.set([0x55, 0xaa], 510);
  const record = Buffer.alloc(1024);
  record.write('FILE', 0, 'latin1');
  record.writeUInt16LE(56, 20);
  record.writeUInt32LE(record.length, 28);
  record.writeUInt32LE(0xffffffff, 56);
  return [
    { offset: 0, bytes: block },
    ...[0, 3].map((number) => ({ offset: 4 * 4096 + number * record.length, bytes: record })),
  ];
}
