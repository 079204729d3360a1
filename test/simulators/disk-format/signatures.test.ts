import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { btrfs, ext4, luks, ntfs, swap, uuidFromText, vfat, xfs } from '../../world/disk-format/filesystems.ts';
import { encodeGpt, type PlacedBytes, partitionTypes, readGpt } from '../../world/disk-format/gpt.ts';
import { partitionTableMagics, readPartitionTable } from '../../world/disk-format/partition-table.ts';
import { readSignatures } from '../../world/disk-format/signatures.ts';
import { makeSparse, readAt, writeAt } from '../../world/disk-format/sparse-file.ts';
import {
  cephBlueStore,
  lvmPhysicalVolume,
  raidMember,
  readLvmGroup,
  zfs,
} from '../../world/disk-format/volume-members.ts';

const folder = mkdtempSync(join(tmpdir(), 'disk-format-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const bytes = 64 * 2 ** 20;
const uuid = uuidFromText('a test');
const identity = { label: 'data', uuid };
const path = join(folder, 'disk.raw');
const read = (offset: number, length: number) => readAt(path, offset, length);

function writeAll(pieces: readonly PlacedBytes[]): void {
  makeSparse(path, bytes);
  for (const chunk of pieces) writeAt(path, chunk.offset, chunk.bytes);
}

const raid = { name: 'rescue:0', arrayUuid: uuid, level: 1, members: 2, position: 0 };
const formats: [type: string, pieces: PlacedBytes[]][] = [
  ['ext4', ext4(identity, bytes)],
  ['xfs', xfs(identity, bytes)],
  ['btrfs', btrfs(identity, bytes)],
  ['swap', swap(identity, bytes)],
  ['crypto_LUKS', luks(identity)],
  ['vfat', vfat(identity, bytes)],
  ['ntfs', ntfs(identity, bytes)],
  ['zfs_member', zfs(identity, bytes)],
  ['LVM2_member', lvmPhysicalVolume('vg0', uuid, bytes)],
  ['linux_raid_member', raidMember(raid, bytes)],
  ['ceph_bluestore', cephBlueStore(uuid, bytes)],
];

describe.each(formats)('%s', (type, pieces) => {
  it('is detected, and no other signature with it', () => {
    writeAll(pieces);
    expect(readSignatures(read, bytes).map((found) => found.type)).toEqual([type]);
  });

  it('is not detected without its magic', () => {
    writeAll(pieces);
    for (const found of readSignatures(read, bytes)) {
      for (const { offset, bytes: magic } of found.magics) writeAt(path, offset, Buffer.alloc(magic.length));
    }
    expect(readSignatures(read, bytes)).toEqual([]);
  });

  it('matches the real blkid, with the same label and UUID', (context) => {
    const program = findSignature('blkid');
    if (!program) return context.skip('blkid is not installed here');
    writeAll(pieces);
    const found = spawnSync(program, ['-p', '-o', 'export', path], { encoding: 'utf8' });
    const real = Object.fromEntries(found.stdout.split('\n').map((line) => line.replaceAll('\\', '').split(/=(.*)/s)));
    const [ours] = readSignatures(read, bytes);
    expect(real).toMatchObject({ TYPE: type, USAGE: ours?.usage });
    expect([real['UUID'], real['LABEL']]).toEqual([ours?.uuid, ours?.label]);
  });

  it('has its magic at the offset that the real wipefs reports', (context) => {
    const program = findSignature('wipefs');
    if (!program) return context.skip('wipefs is not installed here');
    writeAll(pieces);
    const { signatures } = JSON.parse(execFileSync(program, ['-J', path], { encoding: 'utf8' }));
    const ours = readSignatures(read, bytes).flatMap((one) => one.magics.map(({ offset }) => offset));
    const real: number[] = signatures.map(({ offset }: { offset: string }) => Number(offset));
    expect(ours).toEqual(expect.arrayContaining(real));
  });
});

describe('a partition table', () => {
  const gpt = {
    diskGuid: uuidFromText('disk'),
    partitions: [
      {
        number: 1,
        typeGuid: partitionTypes.efiSystem,
        guid: uuidFromText('one'),
        name: 'EFI',
        first: 2048,
        last: 4095,
      },
      { number: 4, typeGuid: partitionTypes.linux, guid: uuidFromText('four'), name: 'MÉTA', first: 4096, last: 8191 },
    ],
  };

  it.each([512, 4096])('with sectors of %d bytes is read as it was written, also from its backup', (sectorBytes) => {
    writeAll(encodeGpt(gpt, bytes, sectorBytes));
    expect(readGpt(read, bytes, sectorBytes)).toEqual({ ...gpt, from: 'primary' });
    writeAt(path, sectorBytes, Buffer.alloc(512));
    expect(readGpt(read, bytes, sectorBytes)).toEqual({ ...gpt, from: 'backup' });
  });

  it('of another sector size is not detected: an image for sectors of 512 bytes does not boot on a 4k disk', () => {
    writeAll(encodeGpt(gpt, bytes, 512));
    expect(readPartitionTable(read, bytes, 4096)).toBeUndefined();
    expect(readPartitionTable(read, bytes, 512)?.partitions).toHaveLength(2);
  });

  it('matches the real blkid and wipefs', (context) => {
    const [blkid, wipefs] = [findSignature('blkid'), findSignature('wipefs')];
    if (!blkid || !wipefs) return context.skip('blkid or wipefs is not installed here');
    writeAll(encodeGpt(gpt, bytes, 512));
    const ours = readPartitionTable(read, bytes, 512);
    const shown = execFileSync(blkid, ['-p', '-o', 'export', path], { encoding: 'utf8' }).trim().split('\n').slice(1);
    expect(shown).toEqual([`PTUUID=${ours?.uuid}`, `PTTYPE=${ours?.type}`]);
    const { signatures } = JSON.parse(execFileSync(wipefs, ['-J', path], { encoding: 'utf8' }));
    expect(partitionTableMagics(read, bytes, 512).map(({ type, magic }) => [type, magic.offset])).toEqual(
      signatures.map(({ type, offset }: { type: string; offset: string }) => [type, Number(offset)]),
    );
  });
});

it('a physical volume names its group, unless its metadata is damaged', () => {
  writeAll(lvmPhysicalVolume('vg0', uuid, bytes));
  expect(readLvmGroup(read)).toBe('vg0');
  writeAt(path, 4096 + 512 + 8, Buffer.from('x'));
  expect(readLvmGroup(read)).toBeUndefined();
});

function findSignature(name: string): string | undefined {
  return ['/usr/sbin', '/sbin', '/usr/bin']
    .map((place) => `${place}/${name}`)
    .find((file) => spawnSync(file, ['-V']).status === 0);
}
