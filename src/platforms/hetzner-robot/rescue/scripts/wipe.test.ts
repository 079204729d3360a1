import { afterEach, describe, expect, it, vi } from 'vitest';
import type { DiskContent } from '../../../../../test/world/robot/disks/bootable-system.ts';
import {
  createRescueFixture,
  type RescueFixture,
  type RescueFixtureOptions,
} from '../../../../../test/world/robot/rescue/rescue-fixture.ts';
import { readPartition } from '../../../../../test/world/talos/boot/disk-partitions.ts';
import { parseRescueJob, type RescueJob, wipeCommand } from '../job.ts';
import { inventoryScript, parseServerInventory } from '../server-inventory.ts';
import { toShellScript } from '../shell-quote.ts';

// Each test simulates a whole operating system.
vi.setConfig({ testTimeout: 30_000 });

const boxes: RescueFixture[] = [];
afterEach(() => {
  for (const box of boxes.splice(0)) box.close();
});

function open(options: RescueFixtureOptions): RescueFixture {
  const box = createRescueFixture({ diskBytes: 2 ** 32, ...options });
  boxes.push(box);
  return box;
}

const named = (serial: string, wwn = '') => ({ serial, wwn });

/** Calls until the job has ended. */
async function wipe(
  box: RescueFixture,
  disks: readonly { serial: string; wwn: string }[],
  operation = 'one',
): Promise<RescueJob> {
  const { line, input } = wipeCommand(operation, disks);
  for (;;) {
    const { stdout, stderr, status } = await box.sh(line, input);
    expect([stderr, status]).toEqual(['', 0]);
    const job = parseRescueJob(stdout);
    if (job.kind !== 'running') return job;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

const inspect = async (box: RescueFixture) =>
  parseServerInventory((await box.sh(toShellScript(inventoryScript))).stdout);
const written = (box: RescueFixture) => new Set(box.ledger.map(({ serial }) => serial));
const first = 'EX9600000001';
const second = 'EX9600000002';

const kinds: readonly DiskContent[] = [
  { kind: 'blank' },
  { kind: 'linux', hostname: 'web1' },
  { kind: 'raid-member', array: '0' },
  { kind: 'lvm', group: 'data' },
  { kind: 'ceph' },
  { kind: 'ext4', label: 'it\'s "$(reboot)"' },
  { kind: 'xfs' },
  { kind: 'btrfs' },
  { kind: 'swap' },
  { kind: 'luks' },
  { kind: 'vfat' },
  { kind: 'ntfs' },
  { kind: 'zfs' },
  { kind: 'talos', version: '1.12.4', configured: true },
];

describe('a wipe removes', () => {
  it.each(kinds.map((content) => [content.kind, content] as const))(
    'H5, B3, P21: %s, and touches no other disk',
    async (_kind, content) => {
      const box = open({ disks: { nvme0n1: content, nvme1n1: { kind: 'ext4' }, sda: { kind: 'ceph' } } });
      expect(await wipe(box, [named(first)])).toMatchObject({ kind: 'done', facts: { disks: 1 } });
      const [found, ...others] = (await inspect(box)).disks;
      expect(found?.holds).toEqual([]);
      expect(others.map(({ holds }) => holds.length)).toEqual([1, 1]);
      expect(written(box)).toEqual(new Set([first]));
    },
  );

  it.each(kinds.map((content) => [content.kind, content] as const))(
    '%s with sectors of 4 KiB',
    async (_kind, content) => {
      const box = open({ disks: { sda: content }, sectorBytes: 4096 });
      expect(await wipe(box, [named('EXHD0001', '0x5000c500aabbcc01')])).toMatchObject({ kind: 'done' });
      expect((await inspect(box)).disks[0]).toMatchObject({ holds: [], sectorBytes: 4096, type: 'hdd' });
    },
  );

  it('P20: an old Talos with the same partitions, on a drive that ignores TRIM', async () => {
    const content: DiskContent = { kind: 'talos', version: '1.12.4', configured: true };
    const box = open({ disks: { nvme0n1: content }, keepsTrimmed: () => true });
    const path = box.hardware.disks[0]?.path ?? '';
    expect(readPartition(path, 'STATE')?.config).toContain('earlier-life');
    await wipe(box, [named(first)]);
    for (const [offset, length] of [
      [8 * 2 ** 20, 4 * 2 ** 20],
      [2 ** 30 - 2 ** 20, 2 ** 21],
      [2 ** 32 - 2 ** 20, 2 ** 20],
    ] as const)
      expect(
        (
          await box.sh(
            `dd if=/dev/nvme0n1 bs=1M skip=${offset / 2 ** 20} count=${length / 2 ** 20} status=none | tr -d '\\0' | wc -c`,
          )
        ).stdout,
      ).toBe('0\n');
  });

  it('the head of each partition, wherever it is on the disk', async () => {
    const box = open({ disks: { nvme0n1: { kind: 'linux', hostname: 'web1' } }, diskBytes: 2 ** 31 });
    // Its root partition is far from the zeroed head, offsets and tail of the disk.
    const head = 'dd if=/dev/nvme0n1 bs=1M skip=511 count=4 status=none | tr -d "\\0" | wc -c';
    expect(Number((await box.sh(head)).stdout)).toBeGreaterThan(0);
    await wipe(box, [named(first)]);
    expect((await box.sh(head)).stdout).toBe('0\n');
  });

  it('everything, and reports how many zeros it wrote', async () => {
    const box = open({ disks: { nvme0n1: { kind: 'blank' } } });
    const zeros = 16 * 2 ** 20 * 3;
    expect(await wipe(box, [named(first)])).toEqual({ kind: 'done', facts: { bytes: zeros, disks: 1 } });
    expect(box.ledger.reduce((sum, { length }) => sum + length, 0)).toBe(zeros);
  });
});

describe('a wipe dissolves', () => {
  const mirror: DiskContent = { kind: 'raid-member', array: '0' };
  const group: DiskContent = { kind: 'lvm', group: 'data' };

  it.each([
    ['an array', mirror],
    ['a volume group', group],
  ])('%s on the named disks alone', async (_what, content) => {
    const box = open({ disks: { nvme0n1: content, nvme1n1: content, sda: { kind: 'ext4' } } });
    expect((await inspect(box)).disks.map(({ arrays }) => arrays)).toEqual([[second], [first], []]);
    expect(await wipe(box, [named(first), named(second)])).toMatchObject({ kind: 'done', facts: { disks: 2 } });
    expect(written(box)).toEqual(new Set([first, second]));
    expect((await box.sh('cat /proc/mdstat; lvs')).stdout).not.toMatch(/active|data/);
  });

  it.each([
    ['an array', mirror],
    ['a volume group', group],
  ])('not %s that lies on another disk, too', async (_what, content) => {
    const box = open({ disks: { nvme0n1: content, nvme1n1: content } });
    const job = await wipe(box, [named(first)]);
    expect(job).toMatchObject({ kind: 'failed', code: 'RESCUE_DISK_SHARED', message: expect.stringContaining(second) });
    expect(box.ledger).toEqual([]);
  });

  it('B4: nothing that is mounted', async () => {
    const box = open({ disks: { nvme0n1: { kind: 'ext4' }, nvme1n1: { kind: 'ext4' } } });
    await box.sh('mount /dev/nvme0n1 /mnt');
    const job = await wipe(box, [named(second), named(first)]);
    expect(job).toMatchObject({ kind: 'failed', code: 'RESCUE_DISK_BUSY' });
    expect(box.ledger).toEqual([]);
  });
});

describe('a disk is identified', () => {
  it.each([
    ['another serial number', named('EX9600000009')],
    ['the serial number of one and the WWN of the other', named(first, 'eui.00a1b2c3d4e5f602')],
    ['a pattern', named('EX960000000?')],
    ['a command', named('$(echo EX9600000001)')],
    ['quotes', named(`'"`)],
  ])('P48: or nothing is written: %s', async (_what, disk) => {
    const box = open({ timeScale: 0 });
    const job = await wipe(box, [disk]);
    expect(job).toMatchObject({ kind: 'failed', code: 'RESCUE_DISK_CHANGED' });
    expect(box.ledger).toEqual([]);
  });

  it('and has to be unique: two with the same serial number are refused', async () => {
    const box = open({});
    Object.assign(box.hardware.disks[1] ?? {}, { serial: first });
    const job = await wipe(box, [named(first)]);
    expect(job).toMatchObject({
      kind: 'failed',
      code: 'RESCUE_DISK_CHANGED',
      message: expect.stringMatching(/^2 disks/),
    });
    expect(box.ledger).toEqual([]);
    // With both identifiers, each is unique again.
    expect(await wipe(box, [named(first, 'eui.00a1b2c3d4e5f602')])).toMatchObject({ kind: 'done' });
  });

  it('under any name that this kernel gives it', async () => {
    const box = open({ disks: { nvme0n1: { kind: 'ext4' }, nvme1n1: { kind: 'ext4' } } });
    const [one, two] = box.hardware.disks;
    Object.assign(one ?? {}, { serial: second, wwn: 'eui.00a1b2c3d4e5f602' });
    Object.assign(two ?? {}, { serial: first, wwn: 'eui.00a1b2c3d4e5f601' });
    await wipe(box, [named(first)]);
    expect((await inspect(box)).disks.map(({ name, holds }) => [name, holds.length])).toEqual([
      ['nvme0n1', 1],
      ['nvme1n1', 0],
    ]);
  });

  it('by a WWN that appears late', async () => {
    const box = open({ udevSeconds: 20 });
    expect(await wipe(box, [named('', 'eui.00a1b2c3d4e5f602')])).toMatchObject({ kind: 'done' });
    expect(written(box)).toEqual(new Set([second]));
  });

  it('with unusual characters in its serial number', async () => {
    const box = open({});
    const serial = `it's "$(reboot)" \\x41 \`id\``;
    Object.assign(box.hardware.disks[0] ?? {}, { serial });
    expect((await inspect(box)).disks[0]?.serial).toBe(serial);
    expect(await wipe(box, [named(serial)])).toMatchObject({ kind: 'done' });
    expect(box.power).toEqual([]);
  });

  it('by at least one identifier', () => expect(() => wipeCommand('one', [named('')])).toThrow(TypeError));
});
