import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { readPartitionTable } from '../../../world/disk-format/partition-table.ts';
import { readSignatures } from '../../../world/disk-format/signatures.ts';
import { readAt, writeAt } from '../../../world/disk-format/sparse-file.ts';
import { type DiskContent, fillDisk, findBootableSystem } from '../../../world/robot/disks/bootable-system.ts';
import { openDiskAccess } from '../../../world/robot/disks/disk-access.ts';
import type { DiskWrite, ServerDisk } from '../../../world/robot/hardware.ts';
import { encodeRawImage, readPartition } from '../../../world/talos/boot/disk-partitions.ts';
import { decodeConfig } from '../../../world/talos/config/decode-config.ts';
import { validateConfig } from '../../../world/talos/config/validate-config.ts';

const folder = mkdtempSync(join(tmpdir(), 'robot-disks-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

let count = 0;
function aDisk(content: DiskContent, change: Partial<ServerDisk> = {}): ServerDisk {
  count += 1;
  const disk: ServerDisk = {
    name: 'nvme0n1',
    path: join(folder, `${count}.raw`),
    sizeBytes: 960197124096,
    model: 'EXAMPLE NV960',
    serial: `EX960000000${count}`,
    wwn: 'eui.00a1b2c3d4e5f601',
    rotational: false,
    sectorBytes: 512,
    bus: 'nvme',
    ...change,
  };
  fillDisk(disk, content);
  return disk;
}

const reader = (disk: ServerDisk) => (offset: number, length: number) => readAt(disk.path, offset, length);
const typesOn = (disk: ServerDisk) => readSignatures(reader(disk), disk.sizeBytes).map(({ type }) => type);
const debian: DiskContent = {
  kind: 'linux',
  hostname: 'debian',
  authorizedKeys: ['ssh-ed25519 AAAA'],
  hetznerBuild: true,
};

describe('fill', () => {
  it('takes almost no space for a disk of 960 GB', () => {
    const disk = aDisk({ kind: 'ext4', label: 'data' });
    expect(statSync(disk.path).size).toBe(disk.sizeBytes);
    expect(statSync(disk.path).blocks * 512).toBeLessThan(2 ** 21);
  });

  it('BlueStore has its label at the start, at 1 GB, and at the end: wiping one leaves the others', () => {
    const disk = aDisk({ kind: 'ceph' });
    for (const offset of [0, 2 ** 30, Math.floor(disk.sizeBytes / 4096) * 4096 - 4096]) {
      expect(reader(disk)(offset, 9).toString()).toBe('bluestore');
    }
  });

  it('a configured Talos of an earlier installation has a configuration that a node accepts', () => {
    const disk = aDisk({ kind: 'talos', version: 'v1.12.4', configured: true });
    const config = decodeConfig(readPartition(disk.path, 'STATE')?.config ?? '', 12);
    const context = { minor: 12, version: '1.12.4', mode: 'metal', installed: true, selectorFits: () => true } as const;
    expect(validateConfig(config, context).errors).toEqual([]);
  });
});

describe('the firmware', () => {
  it.each(['uefi', 'bios'] as const)('starts by %s the installed Linux, with the content of its files', (firmware) => {
    expect(findBootableSystem(aDisk(debian), firmware)).toEqual({
      kind: 'linux',
      hostname: 'debian',
      authorizedKeys: ['ssh-ed25519 AAAA'],
      answersSsh: true,
      hetznerBuild: true,
    });
  });

  it('starts a Linux on a disk with sectors of 4 KiB', () => {
    expect(findBootableSystem(aDisk(debian, { sectorBytes: 4096 }), 'uefi')).toMatchObject({ kind: 'linux' });
  });

  it.each([
    ['the table', 512, 512],
    ['the superblock of the loader', 2 ** 20, 4096],
    ['the superblock of the root', 2 ** 20 * 1025, 4096],
  ])('starts no Linux without %s', (_what, offset, length) => {
    const disk = aDisk(debian);
    writeAt(disk.path, offset, Buffer.alloc(length));
    // The firmware also accepts the backup of a table.
    writeAt(disk.path, disk.sizeBytes - 512, Buffer.alloc(offset === 512 ? 512 : 0));
    expect(findBootableSystem(disk, 'uefi')).toBeUndefined();
  });

  const system = {
    platform: 'metal',
    arch: 'amd64',
    version: '1.13.9',
    schematic: 'a'.repeat(64),
    kernelArguments: [],
    extensions: [],
  };
  const image = encodeRawImage(system, Buffer.alloc(2 ** 20, 'kernel'));

  it('starts Talos from a disk that a raw image was written to, with either firmware', () => {
    const disk = aDisk({ kind: 'ext4' });
    writeAt(disk.path, 0, image);
    expect(['uefi', 'bios'].map((firmware) => findBootableSystem(disk, firmware as 'uefi'))).toEqual([
      { kind: 'talos' },
      { kind: 'talos' },
    ]);
    expect(readPartitionTable(reader(disk), disk.sizeBytes, 512)?.partitions.map(({ name }) => name)).toEqual([
      'EFI',
      'BIOS',
      'BOOT',
      'META',
    ]);
  });

  it('does not start an image whose kernel is truncated', () => {
    const disk = aDisk({ kind: 'blank' });
    writeAt(disk.path, 0, image.subarray(0, 2.5 * 2 ** 20));
    expect(findBootableSystem(disk, 'uefi')).toBeUndefined();
  });

  it('finds no image on a disk with sectors of 4 KiB', () => {
    const disk = aDisk({ kind: 'blank' }, { sectorBytes: 4096 });
    writeAt(disk.path, 0, image);
    expect(findBootableSystem(disk, 'uefi')).toBeUndefined();
  });

  it('leaves the STATE of an earlier installation in place: an image ends before it', () => {
    const disk = aDisk({ kind: 'talos', version: '1.12.4', configured: true });
    writeAt(disk.path, 0, image);
    expect(readPartition(disk.path, 'BOOT')?.version).toBe('1.13.9');
    expect(readPartition(disk.path, 'STATE')?.config).toContain('earlier-life');
  });
});

describe('access', () => {
  it('records every write before its bytes, and none beyond the end', () => {
    const ledger: DiskWrite[] = [];
    const disk = aDisk({ kind: 'ext4' }, { sizeBytes: 64 * 2 ** 20 });
    const access = openDiskAccess(disk, 3140017, (write) => ledger.push(write));
    access.write(1024, Buffer.alloc(1024), 'dd');
    expect(() => access.write(disk.sizeBytes - 1, Buffer.alloc(2), 'dd')).toThrow(RangeError);
    access.discard(0, disk.sizeBytes, 'blkdiscard');
    expect(ledger).toEqual([
      { serverNumber: 3140017, serial: disk.serial, offset: 1024, length: 1024, by: 'dd' },
      { serverNumber: 3140017, serial: disk.serial, offset: 0, length: disk.sizeBytes, by: 'blkdiscard' },
    ]);
    expect(typesOn(disk)).toEqual([]);
  });
});
