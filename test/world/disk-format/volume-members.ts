import { lvmChecksum, mdChecksum } from './checksums.ts';
import { type FilesystemIdentity, uuidBytes, uuidFromText } from './filesystems.ts';
import type { PlacedBytes } from './gpt.ts';

/** Signatures of devices that are part of an array, a volume group or a pool. */

/** A member of an md array with metadata 1.2, at 4 KiB from its start (linux: uapi/linux/raid/md_p.h). */
export interface RaidMember {
  /** E.g. `rescue:0`. */
  readonly name: string;
  readonly arrayUuid: string;
  readonly level: number;
  readonly members: number;
  readonly position: number;
}

export function raidMember(member: RaidMember, bytes: number): PlacedBytes[] {
  const block = Buffer.alloc(512);
  const dataOffset = 2048n;
  const dataSize = BigInt(Math.max(0, Math.floor(bytes / 512) - 2048));
  block.writeUInt32LE(0xa92b4efc, 0);
  block.writeUInt32LE(1, 4);
  uuidBytes(member.arrayUuid).copy(block, 16);
  block.write(member.name.slice(0, 32), 32, 'utf8');
  block.writeInt32LE(member.level, 72);
  block.writeBigUInt64LE(dataSize, 80);
  block.writeUInt32LE(member.members, 92);
  block.writeBigUInt64LE(dataOffset, 128);
  block.writeBigUInt64LE(dataSize, 136);
  block.writeBigUInt64LE(8n, 144);
  block.writeUInt32LE(member.position, 160);
  uuidBytes(uuidFromText(`${member.arrayUuid} ${member.position}`)).copy(block, 168);
  block.writeBigUInt64LE(1n, 200);
  block.writeBigUInt64LE(0xffffffffffffffffn, 208);
  block.writeUInt32LE(member.members, 220);
  for (let index = 0; index < member.members; index += 1) block.writeUInt16LE(index, 256 + 2 * index);
  block.writeUInt32LE(mdChecksum(block.subarray(0, 256 + 2 * member.members)), 216);
  return [{ offset: 4096, bytes: block }];
}

/** Reads a superblock. Never throws: a wrong checksum counts as no superblock. */
export function readRaidMember(block: Buffer): RaidMember | undefined {
  if (block.length < 512 || block.readUInt32LE(0) !== 0xa92b4efc || block.readUInt32LE(4) !== 1) return undefined;
  const members = block.readUInt32LE(92);
  const summed = Buffer.from(block.subarray(0, 256 + 2 * Math.min(block.readUInt32LE(220), 128)));
  summed.writeUInt32LE(0, 216);
  if (mdChecksum(summed) !== block.readUInt32LE(216)) return undefined;
  return {
    name: block.toString('utf8', 32, 64).replace(/\0.*$/s, ''),
    arrayUuid: formatUuid(block.subarray(16, 32)),
    level: block.readInt32LE(72),
    members,
    position: block.readUInt32LE(160),
  };
}

export const formatUuid = (bytes: Buffer): string =>
  bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');

/** LVM writes identifiers with letters and digits, in groups of its own lengths. */
export const formatLvmId = (uuid: string): string =>
  uuid
    .replaceAll('-', '')
    .padEnd(32, '0')
    .replace(/^(.{6})(.{4})(.{4})(.{4})(.{4})(.{4})(.{6})$/, '$1-$2-$3-$4-$5-$6-$7');

const mdaOffset = 4096;
const textOffset = 512;

/** A physical volume with its metadata area: one group with one logical volume (lvm2: lib/format_text). */
export function lvmPhysicalVolume(group: string, uuid: string, bytes: number): PlacedBytes[] {
  const id = uuid.replaceAll('-', '').slice(0, 32);
  const label = Buffer.alloc(512);
  label.write('LABELONE', 0, 'latin1');
  label.writeBigUInt64LE(1n, 8);
  label.writeUInt32LE(32, 20);
  label.write('LVM2 001', 24, 'latin1');
  label.write(id, 32, 'latin1');
  label.writeBigUInt64LE(BigInt(bytes), 64);
  label.writeBigUInt64LE(1048576n, 72);
  label.writeBigUInt64LE(BigInt(mdaOffset), 104);
  label.writeBigUInt64LE(1044480n, 112);
  label.writeUInt32LE(lvmChecksum(label.subarray(20)), 16);
  const text = Buffer.from(`${lvmMetadataText(group, id, bytes)}\0`);
  const header = Buffer.alloc(512);
  header.write(' LVM2 x[5A%r0N*>', 4, 'latin1');
  header.writeUInt32LE(1, 20);
  header.writeBigUInt64LE(BigInt(mdaOffset), 24);
  header.writeBigUInt64LE(1044480n, 32);
  header.writeBigUInt64LE(BigInt(textOffset), 40);
  header.writeBigUInt64LE(BigInt(text.length), 48);
  header.writeUInt32LE(lvmChecksum(text), 56);
  header.writeUInt32LE(lvmChecksum(header.subarray(4)), 0);
  return [
    { offset: 512, bytes: label },
    { offset: mdaOffset, bytes: header },
    { offset: mdaOffset + textOffset, bytes: text },
  ];
}

function lvmMetadataText(group: string, id: string, bytes: number): string {
  const extents = Math.floor(bytes / 4194304) - 1;
  return [
    `${group} {`,
    `id = "${formatLvmId(uuidFromText(`vg ${group}`))}"`,
    'seqno = 2',
    'format = "lvm2"',
    'status = ["RESIZEABLE", "READ", "WRITE"]',
    'extent_size = 8192',
    'physical_volumes {',
    `pv0 { id = "${formatLvmId(id)}" device = "/dev/sda" status = ["ALLOCATABLE"] pe_start = 2048 pe_count = ${extents} }`,
    '}',
    'logical_volumes {',
    `data { id = "${formatLvmId(uuidFromText(`lv ${group}`))}" status = ["READ", "WRITE", "VISIBLE"] segment_count = 1 }`,
    '}',
    '}',
    '',
  ].join('\n');
}

/** The group of a physical volume; undefined: none. */
export function readLvmGroup(read: (offset: number, length: number) => Buffer): string | undefined {
  const header = read(mdaOffset, 512);
  if (header.length < 512 || header.toString('latin1', 4, 20) !== ' LVM2 x[5A%r0N*>') return undefined;
  const length = Number(header.readBigUInt64LE(48));
  const text = read(mdaOffset + Number(header.readBigUInt64LE(40)), Math.min(length, 1 << 20));
  if (lvmChecksum(text) !== header.readUInt32LE(56)) return undefined;
  return /^(\S+) \{/.exec(text.toString('utf8'))?.[1];
}

/** BlueStore's label: at the start, after each gibibyte of a power of ten, and at the end. */
export function cephBlueStore(uuid: string, bytes: number): PlacedBytes[] {
  const label = Buffer.alloc(4096);
  label.write(`bluestore block device\n${uuid}\n`, 0, 'latin1');
  const gibibyte = 2 ** 30;
  const copies = [1, 10, 100, 1000].map((count) => count * gibibyte).filter((offset) => offset + 4096 <= bytes);
  const tail = Math.floor(bytes / 4096) * 4096 - 4096;
  return [0, ...copies, tail].map((offset) => ({ offset, bytes: label }));
}

/** The first two labels of a ZFS pool's device: its name, and enough uberblocks to be recognised. */
export function zfs({ label, uuid }: FilesystemIdentity, bytes: number): PlacedBytes[] {
  const size = 256 * 1024;
  const one = Buffer.alloc(size);
  const guid = uuidBytes(uuid).subarray(0, 8);
  const word = (value: number): Buffer => {
    const four = Buffer.alloc(4);
    four.writeUInt32BE(value);
    return four;
  };
  const text = (value: string): Buffer =>
    Buffer.concat([word(value.length), Buffer.from(value.padEnd(Math.ceil(value.length / 4) * 4, '\0'), 'latin1')]);
  const pair = (name: string, type: number, value: Buffer): Buffer => {
    const rest = Buffer.concat([text(name), word(type), word(1), value]);
    return Buffer.concat([word(rest.length + 8), word(64), rest]);
  };
  Buffer.concat([
    Buffer.from([1, 1, 0, 0]),
    word(0),
    word(1),
    pair('name', 9, text(label || 'tank')),
    pair('pool_guid', 8, guid),
    pair('guid', 8, guid),
    word(0),
    word(0),
  ]).copy(one, 16 * 1024);
  for (let index = 0; index < 8; index += 1) {
    const at = 128 * 1024 + index * 1024;
    one.writeBigUInt64LE(0x00bab10cn, at);
    one.writeBigUInt64LE(5000n, at + 8);
    one.writeBigUInt64LE(BigInt(index + 1), at + 16);
  }
  const end = Math.floor(bytes / size) * size;
  return [0, size, end - 2 * size, end - size].map((offset) => ({ offset, bytes: one }));
}
