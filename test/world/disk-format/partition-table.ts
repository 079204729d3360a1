import { type Gpt, gptMagic, type ReadAt, readGpt } from './gpt.ts';
import type { MagicBytes } from './signatures.ts';

/** A partition as the kernel presents it. */
export interface TablePartition {
  readonly number: number;
  readonly offset: number;
  readonly bytes: number;
  /** GUID of its type, or two hexadecimal digits with `0x`. */
  readonly type: string;
  readonly uuid: string;
  readonly name: string;
}

export interface PartitionTable {
  readonly type: 'gpt' | 'dos';
  readonly uuid: string;
  readonly partitions: readonly TablePartition[];
}

/** The partition table of a disk. */
export function readPartitionTable(read: ReadAt, size: number, sectorBytes: number): PartitionTable | undefined {
  const mbr = read(0, 512);
  if (isMbr(mbr) && mbr[450] !== 0xee) return readMbrTable(mbr, sectorBytes);
  // The kernel accepts no GPT without the protective MBR.
  const gpt = isMbr(mbr) ? readGpt(read, size, sectorBytes) : undefined;
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
  const mbr = read(0, 512);
  const isTable = isMbr(mbr) && (headers.length > 0 ? mbr[450] === 0xee : hasMbrEntries(mbr));
  return [
    ...headers.map((offset) => ({ type: 'gpt', magic: { offset, bytes: header } })),
    ...(isTable
      ? [{ type: mbr[450] === 0xee ? 'PMBR' : 'dos', magic: { offset: 510, bytes: Buffer.from([0x55, 0xaa]) } }]
      : []),
  ];
}

/** An MBR with Linux partitions of these sizes in bytes. The rest of the sector is left for a boot loader. */
export function encodeMbr(
  partitions: readonly { readonly offset: number; readonly bytes: number; readonly type: number }[],
  id: number,
): Buffer {
  const mbr = Buffer.alloc(512);
  mbr.writeUInt32LE(id, 440);
  partitions.slice(0, 4).forEach(({ offset, bytes, type }, index) => {
    const at = 446 + 16 * index;
    mbr.set([index === 0 ? 0x80 : 0, 0xfe, 0xff, 0xff, type, 0xfe, 0xff, 0xff], at);
    mbr.writeUInt32LE(offset / 512, at + 8);
    mbr.writeUInt32LE(Math.min(Math.floor(bytes / 512), 0xffffffff), at + 12);
  });
  mbr.set([0x55, 0xaa], 510);
  return mbr;
}

const isMbr = (mbr: Buffer): boolean => mbr[510] === 0x55 && mbr[511] === 0xaa;

/** A boot sector of FAT or NTFS ends in the same two bytes. */
function hasMbrEntries(mbr: Buffer): boolean {
  const entries = [0, 1, 2, 3].map((index) => mbr.subarray(446 + 16 * index, 462 + 16 * index));
  const used = entries.filter((entry) => entry.readUInt8(4) !== 0);
  return used.length > 0 && entries.every((entry) => [0, 0x80].includes(entry.readUInt8(0)));
}

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

function readMbrTable(mbr: Buffer, sectorBytes: number): PartitionTable | undefined {
  if (!hasMbrEntries(mbr)) return undefined;
  const uuid = mbr.readUInt32LE(440).toString(16).padStart(8, '0');
  const partitions = [0, 1, 2, 3].flatMap((index) => {
    const entry = mbr.subarray(446 + 16 * index, 462 + 16 * index);
    const type = entry.readUInt8(4);
    if (type === 0) return [];
    const number = index + 1;
    return {
      number,
      offset: entry.readUInt32LE(8) * sectorBytes,
      bytes: entry.readUInt32LE(12) * sectorBytes,
      type: `0x${type.toString(16)}`,
      uuid: `${uuid}-${String(number).padStart(2, '0')}`,
      name: '',
    };
  });
  return { type: 'dos', uuid, partitions };
}
