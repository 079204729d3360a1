import { mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { buildIso } from '../../../../src/lib/iso9660.ts';
import type { MachineDescription } from '../../../world/machine-runner/machine.ts';
import { decideBoot } from '../../../world/talos/boot/decide-boot.ts';
import {
  type BootPartition,
  erasePartition,
  eraseTalosDisk,
  readPartition,
  writePartition,
} from '../../../world/talos/boot/disk-partitions.ts';

const folder = mkdtempSync(join(tmpdir(), 'talos-boot-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const disk = join(folder, 'disk.raw');
const disc = join(folder, 'talos.iso');
const seed = join(folder, 'cidata.iso');

const bootDefaults = {
  platform: 'nocloud',
  arch: 'amd64',
  version: 'v1.13.9',
  schematic: 'a'.repeat(64),
  kernelArguments: [],
  extensions: [],
};
const boot: BootPartition = { ...bootDefaults, version: '1.13.8', firmware: 'uefi' };
const image = (change: object = {}) =>
  buildIso({
    label: 'TALOS_V1_13_9',
    files: { 'world.json': Buffer.from(JSON.stringify({ ...bootDefaults, ...change })) },
  });

const machine = (change: Partial<MachineDescription> = {}): MachineDescription => ({
  name: 'one',
  uuid: '00000000-0000-4000-8000-000000000001',
  vcpus: 2,
  memoryMiB: 4096,
  firmware: 'uefi',
  cpuModel: 'host',
  disks: [{ path: disk, sizeBytes: 20 << 20, serial: 'one', order: 1000, bus: 'virtio' }],
  cdroms: [
    { path: disc, order: 1001 },
    { path: seed, order: 1002 },
  ],
  nics: [],
  serialLog: '',
  ...change,
});

beforeEach(() => {
  writeFileSync(disk, '');
  truncateSync(disk, 20 << 20);
  writeFileSync(disc, image());
  writeFileSync(seed, buildIso({ label: 'cidata', files: { 'user-data': Buffer.from('x') } }));
});

const reason = (change: Partial<MachineDescription> = {}): string => {
  const decision = decideBoot(machine(change));
  return decision.from === 'nothing' ? decision.reason : `boots from ${decision.from}`;
};

describe('the firmware', () => {
  it('boots the disc when the disk before it in the order is empty', () => {
    expect(decideBoot(machine())).toMatchObject({ from: 'disc', image: { platform: 'nocloud', version: '1.13.9' } });
  });

  it('boots the disk once Talos is installed on it', () => {
    writePartition(disk, 'BOOT', boot);
    expect(decideBoot(machine())).toMatchObject({ from: 'disk', path: disk, image: { version: '1.13.8' } });
  });

  it('follows the order of the devices, not their kinds: a disc before an installed disk boots every time', () => {
    writePartition(disk, 'BOOT', boot);
    expect(reason({ cdroms: [{ path: disc, order: 1 }] })).toBe('boots from disc');
  });

  it('boots nothing without a bootable device, and logs the devices', () => {
    writeFileSync(disc, 'no image at all');
    expect(reason()).toBe(
      'nothing to boot (disk disk.raw: no boot loader; disc talos.iso: no ISO 9660 image; disc cidata.iso: no boot image (label cidata))',
    );
    expect(reason({ disks: [], cdroms: [] })).toBe('nothing to boot (there is no disk and no disc)');
  });

  it('does not start a boot loader for the other kind of firmware', () => {
    writePartition(disk, 'BOOT', boot);
    expect(reason({ firmware: 'bios', cdroms: [] })).toMatch(/its boot loader is for uefi, not bios/);
  });

  it('does not boot a disk whose first sectors were overwritten', () => {
    writePartition(disk, 'BOOT', boot);
    writePartition(disk, 'META', { tags: {} });
    const bytes = Buffer.alloc(20 << 20, 'garbage');
    writeFileSync(disk, bytes);
    expect(reason({ cdroms: [] })).toMatch(/no boot loader/);
    expect(readPartition(disk, 'META')).toBeUndefined();
  });

  it.each([null, 'qemu64', 'kvm64', 'Penryn', 'core2duo'])('halts below x86-64-v2: %s', (cpuModel) => {
    const shown = cpuModel ?? 'the default of QEMU';
    expect(reason({ cpuModel })).toBe(`the kernel halts: x86-64-v2 is required, and the CPU model is ${shown}`);
  });

  it.each(['host', 'Nehalem', 'Haswell-noTSX', 'EPYC-Rome'])('boots on %s', (cpuModel) => {
    expect(reason({ cpuModel })).toBe('boots from disc');
  });

  it('does not boot an image for another architecture, or a damaged one', () => {
    writeFileSync(disc, image({ arch: 'arm64' }));
    expect(reason()).toMatch(/the image is for arm64/);
    writeFileSync(disc, image({ platform: '' }));
    expect(reason()).toMatch(/its boot image is damaged \(platform is missing\)/);
  });
});

describe('a disk', () => {
  it('keeps its partitions apart: erasing one leaves the others, erasing the disk leaves none', () => {
    writePartition(disk, 'META', { tags: { '0x0a': 'x' } });
    writePartition(disk, 'STATE', { nodeId: 'id', config: 'machine: {}' });
    writePartition(disk, 'EPHEMERAL', {});
    erasePartition(disk, 'STATE');
    expect(readPartition(disk, 'STATE')).toBeUndefined();
    expect(readPartition(disk, 'META')).toEqual({ tags: { '0x0a': 'x' } });
    eraseTalosDisk(disk);
    expect(readPartition(disk, 'META')).toBeUndefined();
    expect(readPartition(disk, 'EPHEMERAL')).toBeUndefined();
  });

  it('holds the last write, of any length', () => {
    writePartition(disk, 'STATE', { nodeId: 'id', config: 'x'.repeat(512 << 10) });
    writePartition(disk, 'STATE', { nodeId: 'id', config: 'short' });
    expect(readPartition(disk, 'STATE')?.config).toBe('short');
  });
});
