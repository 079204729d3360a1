import { createHash } from 'node:crypto';
import { ext4, uuidFromText, vfat } from '../../disk-format/filesystems.ts';
import { encodeGpt, type PlacedBytes, partitionTypes, type ReadAt } from '../../disk-format/gpt.ts';
import { readPartitionTable } from '../../disk-format/partition-table.ts';
import { readSignatures } from '../../disk-format/signatures.ts';
import type { ServerDisk } from '../hardware.ts';
import type { LinuxSystem } from './disk-content.ts';

const mebibyte = 2 ** 20;
/** After the superblocks, so that a system is one of several parts that a wipe can miss. */
const loaderOffset = mebibyte;
const rootOffset = 4 * mebibyte;
const loaderMarker = 'LINUX LOADER\n';
const rootMarker = 'LINUX ROOT';
/** The offset of the name in GRUB's first stage. */
const bootCodeOffset = 0x180;

/**
 * An installed Linux: a partition for the loader, followed by `/boot` and `/`. It starts by UEFI from the loader's
 * partition, and by BIOS from the code in the first sector.
 */
export function encodeLinux(disk: ServerDisk, system: LinuxSystem): PlacedBytes[] {
  const { sizeBytes, sectorBytes, serial } = disk;
  const end = Math.floor(sizeBytes / mebibyte) - 1;
  const small = Math.max(4, Math.min(512, Math.floor(end / 8)));
  const bounds = [1, 1 + small, 1 + 2 * small, end].map((at) => at * mebibyte);
  const types = [partitionTypes.efiSystem, partitionTypes.linux, partitionTypes.linux];
  const partitions = types.map((typeGuid, index) => ({
    number: index + 1,
    typeGuid,
    guid: uuidFromText(`${serial} partition ${index + 1}`),
    name: index === 0 ? 'EFI System Partition' : '',
    first: (bounds[index] ?? 0) / sectorBytes,
    last: (bounds[index + 1] ?? 0) / sectorBytes - 1,
  }));
  const [efi = 0, boot = 0, root = 0] = bounds;
  const identity = (name: string) => ({ label: '', uuid: uuidFromText(`${serial} ${name}`) });
  const at = (offset: number, pieces: readonly PlacedBytes[]): PlacedBytes[] =>
    pieces.map((chunk) => ({ offset: offset + chunk.offset, bytes: chunk.bytes }));
  return [
    ...encodeGpt({ diskGuid: uuidFromText(serial), partitions }, sizeBytes, sectorBytes),
    { offset: bootCodeOffset, bytes: Buffer.from('GRUB ') },
    ...at(efi, vfat(identity('efi'), small * mebibyte)),
    { offset: efi + loaderOffset, bytes: Buffer.from(loaderMarker) },
    ...at(boot, ext4(identity('boot'), small * mebibyte)),
    ...at(root, ext4(identity('root'), sizeBytes - root)),
    { offset: root + rootOffset, bytes: encodeSystem(system) },
  ];
}

/** The Linux of a disk, if its firmware can start it: table, loader and root must all be intact. */
export function readLinux(disk: ServerDisk, read: ReadAt, firmware: 'uefi' | 'bios'): LinuxSystem | undefined {
  const table = readPartitionTable(read, disk.sizeBytes, disk.sectorBytes);
  const [efi, , root] = table?.partitions ?? [];
  if (!efi || !root) return undefined;
  const starts =
    firmware === 'bios'
      ? read(bootCodeOffset, 4).toString('latin1') === 'GRUB'
      : typeAt(read, efi.offset, efi.bytes) === 'vfat' &&
        read(efi.offset + loaderOffset, loaderMarker.length).toString('latin1') === loaderMarker;
  if (!starts || typeAt(read, root.offset, root.bytes) !== 'ext4') return undefined;
  return decodeSystem(read(root.offset + rootOffset, 16 * 1024));
}

const typeAt = (read: ReadAt, offset: number, bytes: number): string | undefined =>
  readSignatures((at, length) => read(offset + at, length), bytes)[0]?.type;

function encodeSystem(system: LinuxSystem): Buffer {
  const body = Buffer.from(JSON.stringify(system));
  return Buffer.concat([Buffer.from(`${rootMarker} ${body.length} ${checksumOf(body)}\n`), body]);
}

function decodeSystem(bytes: Buffer): LinuxSystem | undefined {
  const head = bytes.indexOf('\n');
  const [, length, digest] = /^LINUX ROOT (\d+) ([0-9a-f]{64})$/.exec(bytes.toString('latin1', 0, head)) ?? [];
  const body = bytes.subarray(head + 1, head + 1 + Number(length));
  if (digest === undefined || checksumOf(body) !== digest) return undefined;
  return JSON.parse(body.toString('utf8')) as LinuxSystem;
}

const checksumOf = (body: Buffer): string => createHash('sha256').update(body).digest('hex');
