import type { ReadAt } from './gpt.ts';
import { formatUuid, readRaidMember } from './volume-members.ts';

/** The bytes by which a program recognises the content of a device. */
export interface MagicBytes {
  readonly offset: number;
  readonly bytes: Buffer;
}

/** The content of a device, in the words of blkid. */
export interface Signature {
  readonly type: string;
  readonly usage: 'filesystem' | 'raid' | 'crypto' | 'other';
  readonly uuid?: string;
  readonly label?: string;
  readonly magics: readonly MagicBytes[];
}

type Probe = (read: ReadAt, size: number) => Signature | undefined;

/** All signatures on a device, volume members first, in the order of libblkid. */
export function readSignatures(read: ReadAt, size: number): Signature[] {
  return probes.map((probe) => probe(read, size)).filter((found) => found !== undefined);
}

/** The magic at an offset, or undefined. */
function magicAt(read: ReadAt, offset: number, magic: string): MagicBytes | undefined {
  const wanted = Buffer.from(magic, 'latin1');
  if (offset < 0) return undefined;
  return read(offset, wanted.length).equals(wanted) ? { offset, bytes: wanted } : undefined;
}

const trimmedText = (bytes: Buffer): string => bytes.toString('utf8').replace(/\0.*$/s, '').trimEnd();

/** Without empty fields. */
function identityFields(uuid: string, label: string): { uuid?: string; label?: string } {
  return { ...(/[1-9a-f]/i.test(uuid) ? { uuid } : {}), ...(label ? { label } : {}) };
}

const md: Probe = (read) => {
  const found = readRaidMember(read(4096, 512));
  if (!found) return undefined;
  const magics = [{ offset: 4096, bytes: Buffer.from('fc4e2ba9', 'hex') }];
  return { type: 'linux_raid_member', usage: 'raid', uuid: found.arrayUuid, label: found.name, magics };
};

const lvm: Probe = (read) => {
  const label = magicAt(read, 512, 'LABELONE');
  const kind = magicAt(read, 536, 'LVM2 001');
  if (!label || !kind) return undefined;
  const id = trimmedText(read(544, 32)).replace(/^(.{6})(.{4})(.{4})(.{4})(.{4})(.{4})(.{6})$/, '$1-$2-$3-$4-$5-$6-$7');
  return { type: 'LVM2_member', usage: 'raid', uuid: id, magics: [kind] };
};

const luks: Probe = (read) => {
  const magic = magicAt(read, 0, 'LUKS\xba\xbe');
  if (!magic) return undefined;
  const block = read(0, 512);
  const names = identityFields(trimmedText(block.subarray(168, 208)), trimmedText(block.subarray(24, 72)));
  return { type: 'crypto_LUKS', usage: 'crypto', ...names, magics: [magic] };
};

const ceph: Probe = (read) => {
  const magic = magicAt(read, 0, 'bluestore block device');
  return magic && { type: 'ceph_bluestore', usage: 'other', magics: [magic] };
};

/** The start of the uberblocks in the second half of a label. */
function uberblocks(half: Buffer, offset: number): MagicBytes[] {
  const wanted = Buffer.from('0cb1ba00', 'hex');
  const places = Array.from({ length: 128 }, (_, index) => index * 1024);
  return places
    .filter((at) => half.subarray(at, at + 4).equals(wanted))
    .map((at) => ({ offset: offset + at, bytes: wanted }));
}

const zfs: Probe = (read, size) => {
  const label = 256 * 1024;
  const end = Math.floor(size / label) * label;
  const found = [0, label, end - 2 * label, end - label]
    .filter((start) => start >= 0)
    .flatMap((start) => uberblocks(read(start + label / 2, label / 2), start + label / 2));
  if (found.length < 4) return undefined;
  const names = read(16 * 1024, 512);
  const at = names.indexOf('name');
  const label0 = at < 0 ? '' : names.toString('latin1', at + 16, at + 16 + names.readUInt32BE(at + 12));
  const guid = names.indexOf('pool_guid');
  const uuid = guid < 0 ? '' : names.readBigUInt64BE(guid + 20).toString();
  return { type: 'zfs_member', usage: 'filesystem', ...identityFields(uuid, label0), magics: found };
};

const swap: Probe = (read) => {
  const magic = magicAt(read, 4086, 'SWAPSPACE2');
  if (!magic) return undefined;
  const block = read(1024, 44);
  const names = identityFields(formatUuid(block.subarray(12, 28)), trimmedText(block.subarray(28, 44)));
  return { type: 'swap', usage: 'other', ...names, magics: [magic] };
};

const ext4: Probe = (read) => {
  const magic = magicAt(read, 0x438, '\x53\xef');
  if (!magic) return undefined;
  const block = read(1024, 1024);
  const names = identityFields(formatUuid(block.subarray(104, 120)), trimmedText(block.subarray(120, 136)));
  return { type: 'ext4', usage: 'filesystem', ...names, magics: [magic] };
};

const xfs: Probe = (read) => {
  const magic = magicAt(read, 0, 'XFSB');
  if (!magic) return undefined;
  const block = read(0, 512);
  const names = identityFields(formatUuid(block.subarray(32, 48)), trimmedText(block.subarray(108, 120)));
  return { type: 'xfs', usage: 'filesystem', ...names, magics: [magic] };
};

const btrfs: Probe = (read) => {
  const magic = magicAt(read, 0x10040, '_BHRfS_M');
  if (!magic) return undefined;
  const block = read(0x10000, 4096);
  const names = identityFields(formatUuid(block.subarray(0x20, 0x30)), trimmedText(block.subarray(0x12b, 0x22b)));
  return { type: 'btrfs', usage: 'filesystem', ...names, magics: [magic] };
};

const vfat: Probe = (read) => {
  const [name, end] = [magicAt(read, 0x52, 'FAT32   '), magicAt(read, 510, '\x55\xaa')];
  if (!name || !end) return undefined;
  const block = read(0, 512);
  const serial = block.readUInt32LE(67).toString(16).toUpperCase().padStart(8, '0');
  const entry = read(512 * (block.readUInt16LE(14) + 2 * block.readUInt32LE(36)), 32);
  const names = identityFields(
    `${serial.slice(0, 4)}-${serial.slice(4)}`,
    entry[11] === 8 ? trimmedText(entry.subarray(0, 11)) : '',
  );
  const jump = { offset: 0, bytes: block.subarray(0, 1) };
  const magics = [name, jump, end];
  return { type: 'vfat', usage: 'filesystem', ...names, magics };
};

const ntfs: Probe = (read) => {
  const magic = magicAt(read, 3, 'NTFS    ');
  if (!magic) return undefined;
  const block = read(0, 512);
  const serial = block.readBigUInt64LE(72).toString(16).toUpperCase().padStart(16, '0');
  return { type: 'ntfs', usage: 'filesystem', ...identityFields(serial, ''), magics: [magic] };
};

const probes: readonly Probe[] = [md, lvm, luks, ceph, zfs, swap, ext4, xfs, btrfs, vfat, ntfs];
