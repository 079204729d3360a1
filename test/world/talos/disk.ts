import { createHash } from 'node:crypto';
import { closeSync, existsSync, openSync, readSync, statSync, writeSync } from 'node:fs';

/** Partitions that Talos looks for. META is what makes a disk "installed"; without a boot loader it does not boot. */
export type Partition = 'BOOT' | 'META' | 'STATE' | 'EPHEMERAL';

/** What the boot loader starts. */
export interface BootPartition {
  readonly platform: string;
  readonly arch: string;
  readonly version: string;
  readonly schematic: string;
  readonly kernelArguments: readonly string[];
  readonly extensions: readonly string[];
  readonly firmware: 'uefi' | 'bios';
  /** The version before the last upgrade, for a rollback. */
  readonly previous?: Omit<BootPartition, 'previous'>;
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

export interface EphemeralPartition {
  /** What lies in the etcd data directory: which cluster, and who we are in it. */
  readonly etcd?: { readonly cluster: string; readonly memberId: string };
  /** The kubelet's client certificate is there: it needs no bootstrap token any more. */
  readonly kubelet?: { readonly cluster: string; readonly node: string };
}

interface Content {
  readonly BOOT: BootPartition;
  readonly META: MetaPartition;
  readonly STATE: StatePartition;
  readonly EPHEMERAL: EphemeralPartition;
}

/** Bytes from the start of the disk. The first sector of each is a header: magic, length, checksum. */
const offsets: Record<Partition, number> = { BOOT: 1 << 20, META: 2 << 20, STATE: 3 << 20, EPHEMERAL: 5 << 20 };
const headerSize = 512;
const magic = 'TALOSWORLD1';
const tableMagic = 'EFI PART TALOSWORLD1';

/** Bytes of a disk that the world's Talos needs at least: real ones need gigabytes, and say so themselves. */
export const leastDiskBytes = 8 << 20;

/** Reads one partition, or undefined when it is not there or its bytes make no sense. */
export function readPartition<P extends Partition>(path: string, partition: P): Content[P] | undefined {
  if (!existsSync(path) || !hasTable(path)) return undefined;
  const header = readAt(path, offsets[partition], headerSize).toString('latin1');
  const [word, name, length, sum] = header.slice(0, header.indexOf('\n')).split(' ');
  if (word !== magic || name !== partition) return undefined;
  const body = readAt(path, offsets[partition] + headerSize, Number(length));
  if (checksum(body) !== sum) return undefined;
  return JSON.parse(body.toString('utf8')) as Content[P];
}

/** Writes one partition, and the partition table when there is none. */
export function writePartition<P extends Partition>(path: string, partition: P, content: Content[P]): void {
  if (!hasTable(path)) writeAt(path, 512, Buffer.from(`${tableMagic}\n`, 'latin1'));
  const body = Buffer.from(JSON.stringify(content), 'utf8');
  const header = Buffer.alloc(headerSize);
  header.write(`${magic} ${partition} ${body.length} ${checksum(body)}\n`, 'latin1');
  writeAt(path, offsets[partition], Buffer.concat([header, body]));
}

export function erasePartition(path: string, partition: Partition): void {
  writeAt(path, offsets[partition], Buffer.alloc(headerSize));
}

/** Makes a disk look new: partition table and all headers gone. */
export function eraseDisk(path: string): void {
  writeAt(path, 0, Buffer.alloc(4096));
  for (const offset of Object.values(offsets)) writeAt(path, offset, Buffer.alloc(headerSize));
}

export const diskBytes = (path: string): number => (existsSync(path) ? statSync(path).size : 0);

function hasTable(path: string): boolean {
  if (diskBytes(path) < leastDiskBytes) return false;
  return readAt(path, 512, tableMagic.length).toString('latin1') === tableMagic;
}

const checksum = (body: Buffer): string => createHash('sha256').update(body).digest('hex');

function readAt(path: string, offset: number, length: number): Buffer {
  const file = openSync(path, 'r');
  try {
    const buffer = Buffer.alloc(length);
    readSync(file, buffer, 0, length, offset);
    return buffer;
  } finally {
    closeSync(file);
  }
}

function writeAt(path: string, offset: number, bytes: Buffer): void {
  const file = openSync(path, 'r+');
  try {
    writeSync(file, bytes, 0, bytes.length, offset);
  } finally {
    closeSync(file);
  }
}
