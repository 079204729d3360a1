import { createHash } from 'node:crypto';
import { uuidFromText, vfat, xfs } from '../../disk-format/filesystems.ts';
import {
  encodeGpt,
  type GptPartition,
  gptMagic,
  type PlacedBytes,
  partitionTypes,
  readGpt,
  tableSectors,
} from '../../disk-format/gpt.ts';
import { fileSize, readAt, writeAt } from '../../disk-format/sparse-file.ts';

/** The partitions of Talos. META makes a disk "installed"; a disk without a boot loader does not boot. */
export type TalosPartition = 'BOOT' | 'META' | 'STATE' | 'EPHEMERAL';

/** A Talos system: an image with its command line. */
export interface InstalledSystem {
  readonly platform: string;
  readonly arch: string;
  /** Without `v`. */
  readonly version: string;
  readonly schematic: string;
  readonly kernelArguments: readonly string[];
  readonly extensions: readonly string[];
  /** The bytes behind the loader, if they are checked: those of a complete image. */
  readonly kernel?: { readonly bytes: number; readonly sha256: string };
}

/** The system that the boot loader starts. */
export interface BootPartition extends InstalledSystem {
  /** `any`: a raw image has a loader for either firmware; the first boot removes the unused one. */
  readonly firmware: 'uefi' | 'bios' | 'any';
  /** The loader keeps two systems: the other one, after an upgrade the earlier one. */
  readonly previous?: InstalledSystem;
}

export interface MetaPartition {
  /** By key, e.g. `0x0a`. */
  readonly tags: Readonly<Record<string, string>>;
}

export interface StatePartition {
  /** `config.yaml`: the persisted machine configuration. */
  readonly config?: string;
  /** Cluster discovery identity of the node. */
  readonly nodeId: string;
}

/** An image that a node has pulled. */
export interface PulledImage {
  /** Namespaces of the containerd of the CRI, whose images lie in EPHEMERAL, and of the one in memory. */
  readonly namespace: 'cri/system' | 'cri/k8s.io' | 'memory/system';
  /** The reference of the pull. */
  readonly name: string;
  readonly digest: string;
  readonly bytes: number;
  /** ISO 8601. */
  readonly pulledAt: string;
  /** The system that an installer writes. */
  readonly system?: InstalledSystem;
}

export interface EphemeralPartition {
  /** Content of the etcd data directory: the cluster, and this node's member id. */
  readonly etcd?: { readonly cluster: string; readonly memberId: string };
  /** `/var/lib/etcd.snapshot`: the id of an uploaded snapshot in `TalosEnvironment.uploadedSnapshots`. */
  readonly etcdSnapshot?: string;
  /** The kubelet has its client certificate and needs no bootstrap token. */
  readonly kubelet?: { readonly cluster: string; readonly node: string };
  /** Content of the image store. */
  readonly images?: readonly PulledImage[];
}

interface PartitionContent {
  readonly BOOT: BootPartition;
  readonly META: MetaPartition;
  readonly STATE: StatePartition;
  readonly EPHEMERAL: EphemeralPartition;
}

const mebibyte = 2 ** 20;
const sectorBytes = 512;

/** The entries of the partition table, each with its offset in MiB. EPHEMERAL gets the remaining space. */
const partitionLayout = [
  { name: 'EFI', type: partitionTypes.efiSystem, start: 1, end: 5 },
  { name: 'BIOS', type: partitionTypes.biosBoot, start: 5, end: 5.5 },
  { name: 'BOOT', type: partitionTypes.linux, start: 5.5, end: 6 },
  { name: 'META', type: partitionTypes.linux, start: 6, end: 7 },
  { name: 'STATE', type: partitionTypes.linux, start: 8, end: 10 },
  { name: 'EPHEMERAL', type: partitionTypes.linux, start: 10, end: Number.POSITIVE_INFINITY },
] as const;

/** The entries that a partition creates: a loader has three, as on a disk for either firmware. */
const entriesOf: Record<TalosPartition, readonly (typeof partitionLayout)[number]['name'][]> = {
  BOOT: ['EFI', 'BIOS', 'BOOT'],
  META: ['META'],
  STATE: ['STATE'],
  EPHEMERAL: ['EPHEMERAL'],
};

/**
 * The content of a partition lies behind the superblock of its file system. The first sector is a header: magic,
 * length, checksum.
 */
const recordOffset = 64 * 1024;
const partitionOffsetsMiB: Record<TalosPartition, number> = { BOOT: 1, META: 6, STATE: 8, EPHEMERAL: 10 };
const offsets = Object.fromEntries(
  Object.entries(partitionOffsetsMiB).map(([name, start]) => [name, start * mebibyte + recordOffset]),
) as Record<TalosPartition, number>;
const headerSize = 512;
const magic = 'TALOSWORLD1';

/** The offset of a kernel's bytes, and their maximum length. */
const kernelOffset = 2 * mebibyte;
export const maximumKernelBytes = 3 * mebibyte;

/** The minimum disk size of the simulated Talos in bytes: real nodes need gigabytes and report that themselves. */
export const minimumDiskBytes = 16 * mebibyte;

/**
 * A raw image ends before the offset of STATE: the content of an earlier system's STATE survives the write of an image.
 */
const imageBytes = 8 * mebibyte;

/** Reads one partition, or undefined when it is missing or invalid. */
export function readPartition<P extends TalosPartition>(path: string, partition: P): PartitionContent[P] | undefined {
  if (!hasTable(path)) return undefined;
  const header = readAt(path, offsets[partition], headerSize).toString('latin1');
  const [word, name, length, sum] = header.slice(0, header.indexOf('\n')).split(' ');
  if (word !== magic || name !== partition) return undefined;
  const body = readAt(path, offsets[partition] + headerSize, Number(length));
  if (checksum(body) !== sum) return undefined;
  return JSON.parse(body.toString('utf8')) as PartitionContent[P];
}

/** Writes one partition, and its missing entries in the table. */
export function writePartition<P extends TalosPartition>(
  path: string,
  partition: P,
  content: PartitionContent[P],
): void {
  for (const chunk of missingEntries(path, partition)) writeAt(path, chunk.offset, chunk.bytes);
  writeAt(path, offsets[partition], encodeRecord(partition, content));
}

export function erasePartition(path: string, partition: TalosPartition): void {
  writeAt(path, offsets[partition], Buffer.alloc(headerSize));
}

/** Erases a disk: partition tables and all headers. */
export function eraseTalosDisk(path: string): void {
  const size = fileSize(path);
  writeAt(path, 0, Buffer.alloc(tableBytes));
  if (size > tableBytes) writeAt(path, size - tableBytes, Buffer.alloc(tableBytes));
  for (const offset of Object.values(offsets)) if (offset < size) writeAt(path, offset, Buffer.alloc(headerSize));
  for (const { start } of partitionLayout)
    if (start * mebibyte < size) writeAt(path, start * mebibyte, Buffer.alloc(headerSize));
}

export const diskFileBytes = fileSize;

/** Why the loader's system is damaged; undefined when it is complete. */
export function kernelProblem(path: string, { kernel }: BootPartition): string | undefined {
  if (!kernel) return undefined;
  const found = readAt(path, kernelOffset, kernel.bytes);
  return checksum(found) === kernel.sha256 ? undefined : 'its kernel is damaged: the image was not written whole';
}

/** The bytes of a raw image: loaders and META. The same system always has the same bytes, including GUIDs. */
export function encodeRawImage(boot: Omit<BootPartition, 'kernel' | 'firmware'>, kernel: Buffer): Buffer {
  if (kernel.length > maximumKernelBytes) throw new RangeError(`a kernel has at most ${maximumKernelBytes} bytes`);
  const image = Buffer.alloc(imageBytes);
  const names = [...entriesOf.BOOT, ...entriesOf.META];
  const loader: BootPartition = {
    ...boot,
    firmware: 'any',
    kernel: { bytes: kernel.length, sha256: checksum(kernel) },
  };
  for (const { offset, bytes } of [
    ...encodeTable(names, imageBytes),
    ...names.flatMap((name) => superblock(name, imageBytes)),
    { offset: kernelOffset, bytes: kernel },
    { offset: offsets.BOOT, bytes: encodeRecord('BOOT', loader) },
    { offset: offsets.META, bytes: encodeRecord('META', { tags: {} }) },
  ]) {
    bytes.copy(image, offset);
  }
  return image;
}

/** Both tables lie within this many bytes of the ends of a disk. */
const tableBytes = (tableSectors(sectorBytes) + 1) * sectorBytes;

function hasTable(path: string): boolean {
  if (fileSize(path) < minimumDiskBytes) return false;
  return readAt(path, sectorBytes, gptMagic.length).toString('latin1') === gptMagic;
}

function missingEntries(path: string, partition: TalosPartition): PlacedBytes[] {
  const size = fileSize(path);
  const found = readGpt((offset, length) => readAt(path, offset, length), size, sectorBytes);
  const there = new Set(found?.partitions.map(({ name }) => name));
  const missing = entriesOf[partition].filter((name) => !there.has(name));
  if (found?.from === 'primary' && missing.length === 0) return [];
  const names = partitionLayout.map(({ name }) => name).filter((name) => there.has(name) || missing.includes(name));
  return [...encodeTable(names, size), ...missing.flatMap((name) => superblock(name, size))];
}

type EntryName = (typeof partitionLayout)[number]['name'];

/** The disk GUID is derived from a fixed text, as in the installer: all disks of Talos have the same. */
function encodeTable(names: readonly EntryName[], size: number): PlacedBytes[] {
  const lastUsable = Math.floor(size / sectorBytes) - 1 - tableSectors(sectorBytes);
  const partitions = partitionLayout.flatMap(({ name, type, start, end }, index): GptPartition[] => {
    if (!names.includes(name)) return [];
    const first = (start * mebibyte) / sectorBytes;
    const last = Math.min((end * mebibyte) / sectorBytes - 1, lastUsable);
    return [{ number: index + 1, typeGuid: type, guid: uuidFromText(`Talos ${name}`), name, first, last }];
  });
  return encodeGpt({ diskGuid: uuidFromText('Talos disk'), partitions }, size, sectorBytes);
}

/** The file system of a partition, as far as other programs recognise it. */
function superblock(name: EntryName, size: number): PlacedBytes[] {
  const { start, end } = partitionLayout.find((entry) => entry.name === name) ?? partitionLayout[0];
  const bytes = Math.min(end * mebibyte, size) - start * mebibyte;
  const identity = { label: name, uuid: uuidFromText(`Talos file system ${name}`) };
  const pieces =
    name === 'EFI' ? vfat(identity, bytes) : name === 'BIOS' || name === 'META' ? [] : xfs(identity, bytes);
  return pieces.map((chunk) => ({ offset: start * mebibyte + chunk.offset, bytes: chunk.bytes }));
}

function encodeRecord<P extends TalosPartition>(partition: P, content: PartitionContent[P]): Buffer {
  const body = Buffer.from(JSON.stringify(content), 'utf8');
  const header = Buffer.alloc(headerSize);
  header.write(`${magic} ${partition} ${body.length} ${checksum(body)}\n`, 'latin1');
  return Buffer.concat([header, body]);
}

const checksum = (body: Buffer): string => createHash('sha256').update(body).digest('hex');
