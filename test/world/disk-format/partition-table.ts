import { type Gpt, gptMagic, type ReadAt, readGpt } from './gpt.ts';
import type { MagicBytes } from './signatures.ts';

/** A partition as the kernel presents it. */
export interface TablePartition {
  readonly number: number;
  readonly offset: number;
  readonly bytes: number;
  /** GUID of its type. */
  readonly type: string;
  readonly uuid: string;
  readonly name: string;
}

export interface PartitionTable {
  readonly type: 'gpt';
  readonly uuid: string;
  readonly partitions: readonly TablePartition[];
}

/** The partition table of a disk. */
export function readPartitionTable(read: ReadAt, size: number, sectorBytes: number): PartitionTable | undefined {
  // The kernel accepts no GPT without the protective MBR.
  const gpt = isProtectiveMbr(read(0, 512)) ? readGpt(read, size, sectorBytes) : undefined;
  return gpt && tableFromGpt(gpt, sectorBytes);
}

/** The parts of a table that wipefs erases: both headers and the MBR. */
export function partitionTableMagics(
  read: ReadAt,
  size: number,
  sectorBytes: number,
): { type: string; magic: MagicBytes }[] {
  const last = (Math.floor(size / sectorBytes) - 1) * sectorBytes;
  const header = Buffer.from(gptMagic, 'latin1');
  const headers = [sectorBytes, last].filter((offset) => offset > 0 && read(offset, 8).equals(header));
  const isProtected = isProtectiveMbr(read(0, 512));
  return [
    ...headers.map((offset) => ({ type: 'gpt', magic: { offset, bytes: header } })),
    ...(isProtected ? [{ type: 'PMBR', magic: { offset: 510, bytes: Buffer.from([0x55, 0xaa]) } }] : []),
  ];
}

const isProtectiveMbr = (mbr: Buffer): boolean => mbr[450] === 0xee && mbr[510] === 0x55 && mbr[511] === 0xaa;

function tableFromGpt(gpt: Gpt, sectorBytes: number): PartitionTable {
  const partitions = gpt.partitions.map(({ number, typeGuid, guid, name, first, last }) => ({
    number,
    offset: first * sectorBytes,
    bytes: (last - first + 1) * sectorBytes,
    type: typeGuid,
    uuid: guid,
    name,
  }));
  return { type: 'gpt', uuid: gpt.diskGuid, partitions };
}
