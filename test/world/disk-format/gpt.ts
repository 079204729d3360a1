import { crc32 } from 'node:zlib';

/** One entry of a partition table. */
export interface GptPartition {
  /** 1 to 128: the index of its entry in the table. */
  readonly number: number;
  readonly typeGuid: string;
  readonly guid: string;
  readonly name: string;
  /** In sectors, both inclusive. */
  readonly first: number;
  readonly last: number;
}

export interface Gpt {
  readonly diskGuid: string;
  readonly partitions: readonly GptPartition[];
}

/** A table and its location. */
export interface GptOnDisk extends Gpt {
  readonly from: 'primary' | 'backup';
}

/** Bytes and their offset. */
export interface PlacedBytes {
  readonly offset: number;
  readonly bytes: Buffer;
}

export type ReadAt = (offset: number, length: number) => Buffer;

/** The type GUIDs that are used here. */
export const partitionTypes = {
  efiSystem: 'c12a7328-f81f-11d2-ba4b-00a0c93ec93b',
  biosBoot: '21686148-6449-6e6f-744e-656564454649',
  linux: '0fc63daf-8483-4772-8e79-3d69d8477de4',
  linuxRaid: 'a19d880f-05fc-4d3b-a006-743f0f84911e',
} as const;

export const gptMagic = 'EFI PART';
const entrySize = 128;
const entryCount = 128;

/** Sectors at either end that belong to the table, without the protective MBR. */
export const tableSectors = (sectorBytes: number): number => 1 + (entrySize * entryCount) / sectorBytes;

/** Everything that a table writes: protective MBR, table, and backup at the end of the disk. */
export function encodeGpt(gpt: Gpt, diskBytes: number, sectorBytes: number): PlacedBytes[] {
  const last = Math.floor(diskBytes / sectorBytes) - 1;
  const entries = encodeEntries(gpt.partitions);
  const entrySectors = tableSectors(sectorBytes) - 1;
  const sums = { entries, gpt, last, sectorBytes };
  return [
    { offset: 0, bytes: protectiveMbr(last, sectorBytes) },
    { offset: sectorBytes, bytes: encodeHeader({ ...sums, self: 1, other: last, table: 2 }) },
    { offset: 2 * sectorBytes, bytes: entries },
    { offset: (last - entrySectors) * sectorBytes, bytes: entries },
    {
      offset: last * sectorBytes,
      bytes: encodeHeader({ ...sums, self: last, other: 1, table: last - entrySectors }),
    },
  ];
}

/** The table of a disk, or its backup when the first one is damaged. A header is valid only with both checksums. */
export function readGpt(read: ReadAt, diskBytes: number, sectorBytes: number): GptOnDisk | undefined {
  const last = Math.floor(diskBytes / sectorBytes) - 1;
  const primary = readHeader(read, 1, sectorBytes);
  if (primary) return { ...primary, from: 'primary' };
  const backup = last > 1 ? readHeader(read, last, sectorBytes) : undefined;
  return backup && { ...backup, from: 'backup' };
}

/** `c12a7328-…` as the sixteen bytes on disk: the first three fields are little-endian. */
export function encodeGuid(guid: string): Buffer {
  const bytes = Buffer.from(guid.replaceAll('-', ''), 'hex');
  bytes.subarray(0, 4).reverse();
  bytes.subarray(4, 6).reverse();
  bytes.subarray(6, 8).reverse();
  return bytes;
}

function decodeGuid(given: Buffer): string {
  const bytes = Buffer.from(given);
  bytes.subarray(0, 4).reverse();
  bytes.subarray(4, 6).reverse();
  bytes.subarray(6, 8).reverse();
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}

interface HeaderLocation {
  readonly gpt: Gpt;
  readonly entries: Buffer;
  readonly last: number;
  readonly sectorBytes: number;
  readonly self: number;
  readonly other: number;
  readonly table: number;
}

function encodeHeader({ gpt, entries, last, sectorBytes, self, other, table }: HeaderLocation): Buffer {
  const header = Buffer.alloc(sectorBytes);
  header.write(gptMagic, 0, 'latin1');
  header.writeUInt32LE(0x00010000, 8);
  header.writeUInt32LE(92, 12);
  header.writeBigUInt64LE(BigInt(self), 24);
  header.writeBigUInt64LE(BigInt(other), 32);
  header.writeBigUInt64LE(BigInt(1 + tableSectors(sectorBytes)), 40);
  header.writeBigUInt64LE(BigInt(last - tableSectors(sectorBytes)), 48);
  encodeGuid(gpt.diskGuid).copy(header, 56);
  header.writeBigUInt64LE(BigInt(table), 72);
  header.writeUInt32LE(entryCount, 80);
  header.writeUInt32LE(entrySize, 84);
  header.writeUInt32LE(crc32(entries), 88);
  header.writeUInt32LE(crc32(header.subarray(0, 92)), 16);
  return header;
}

function encodeEntries(partitions: readonly GptPartition[]): Buffer {
  const entries = Buffer.alloc(entrySize * entryCount);
  for (const partition of partitions) {
    const entry = entries.subarray((partition.number - 1) * entrySize);
    encodeGuid(partition.typeGuid).copy(entry, 0);
    encodeGuid(partition.guid).copy(entry, 16);
    entry.writeBigUInt64LE(BigInt(partition.first), 32);
    entry.writeBigUInt64LE(BigInt(partition.last), 40);
    entry.write(partition.name.slice(0, 36), 56, 72, 'utf16le');
  }
  return entries;
}

function readHeader(read: ReadAt, sector: number, sectorBytes: number): Gpt | undefined {
  const header = Buffer.from(read(sector * sectorBytes, sectorBytes));
  if (header.length < 92 || header.toString('latin1', 0, 8) !== gptMagic) return undefined;
  const sum = header.readUInt32LE(16);
  header.writeUInt32LE(0, 16);
  if (crc32(header.subarray(0, 92)) !== sum || header.readBigUInt64LE(24) !== BigInt(sector)) return undefined;
  const count = header.readUInt32LE(80);
  const size = header.readUInt32LE(84);
  if (size !== entrySize || count > 1024) return undefined;
  const entries = read(Number(header.readBigUInt64LE(72)) * sectorBytes, count * size);
  if (crc32(entries) !== header.readUInt32LE(88)) return undefined;
  return { diskGuid: decodeGuid(header.subarray(56, 72)), partitions: decodeEntries(entries, count) };
}

function decodeEntries(entries: Buffer, count: number): GptPartition[] {
  const found: GptPartition[] = [];
  for (let index = 0; index < count; index += 1) {
    const entry = entries.subarray(index * entrySize, (index + 1) * entrySize);
    if (entry.subarray(0, 16).every((byte) => byte === 0)) continue;
    found.push({
      number: index + 1,
      typeGuid: decodeGuid(entry.subarray(0, 16)),
      guid: decodeGuid(entry.subarray(16, 32)),
      name: entry.toString('utf16le', 56, 128).replace(/\0.*$/s, ''),
      first: Number(entry.readBigUInt64LE(32)),
      last: Number(entry.readBigUInt64LE(40)),
    });
  }
  return found;
}

/** One partition of type `ee` over the whole disk, so that older programs do not treat the disk as empty. */
function protectiveMbr(last: number, sectorBytes: number): Buffer {
  const mbr = Buffer.alloc(sectorBytes);
  mbr.set([0, 0, 2, 0, 0xee, 0xff, 0xff, 0xff], 446);
  mbr.writeUInt32LE(1, 454);
  mbr.writeUInt32LE(Math.min(last, 0xffffffff), 458);
  mbr.set([0x55, 0xaa], 510);
  return mbr;
}
