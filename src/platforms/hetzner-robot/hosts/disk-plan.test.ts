import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { HostDisk } from '../../../engine/host.ts';
import { diskIdentifierOf, matchesDiskIdentifier, planDisks } from './disk-plan.ts';

const disk = (serial: string, more: Partial<HostDisk> = {}): HostDisk => ({
  ...{ name: 'nvme0n1', model: 'EXAMPLE NV960', serial, wwn: `eui.${serial.toLowerCase()}`, type: 'nvme', holds: [] },
  sizeBytes: 960_197_124_096,
  ...more,
});

type Words = Parameters<typeof planDisks>[0];
const text = (more: Partial<Words> = {}): Words => ({
  ...{ wipe: false, protectedDisks: [], rootDisk: { raidMembers: [] } },
  ...more,
});

/** Serial numbers of the disks, or the sentence of the refusal. */
function erased(given: Words, disks: readonly HostDisk[]): readonly string[] | string {
  const plan = planDisks(given, disks);
  return 'refused' in plan ? plan.refused : plan.erase.map(diskIdentifierOf);
}

describe('the root disk', () => {
  const [small, large] = [disk('A1', { sizeBytes: 5e11 }), disk('B2', { sizeBytes: 2e12 })];
  const rust = disk('C3', { sizeBytes: 4e12, type: 'hdd', wwn: '0x5000c500aabbcc07' });

  it.each<[string, Words, readonly HostDisk[], readonly string[]]>([
    ['the smallest, where nothing is said', text(), [large, small, rust], ['A1']],
    ['one of those alike by its serial number, however they are listed', text(), [disk('Z'), disk('Y')], ['Y']],
    ['the one of a serial number', text({ rootDisk: { serial: 'b2', raidMembers: [] } }), [small, large], ['B2']],
    [
      'the one of a WWN, as whatever tool wrote it',
      text({ rootDisk: { wwn: '0x5000C500AABBCC07', raidMembers: [] } }),
      [small, rust],
      ['C3'],
    ],
    ['the smallest of a kind', text({ rootDisk: { type: 'hdd', raidMembers: [] } }), [small, rust], ['C3']],
    [
      'the smallest that is large enough',
      text({ rootDisk: { minSizeGiB: 1000, raidMembers: [] } }),
      [small, large],
      ['B2'],
    ],
    ['none that is too large', text({ rootDisk: { maxSizeGiB: 1000, raidMembers: [] } }), [large, small], ['A1']],
    ['none that is protected', text({ protectedDisks: ['A1'] }), [small, large], ['B2']],
    [
      'a blank one before one that holds something',
      text(),
      [disk('A1', { sizeBytes: 5e11, holds: ['ext4 on nvme0n1p3'] }), large],
      ['B2'],
    ],
    [
      'a blank one before one that says it is failing',
      text(),
      [disk('A1', { sizeBytes: 5e11, health: 'Failing' }), disk('B2', { sizeBytes: 2e12, health: 'Unknown' })],
      ['B2'],
    ],
    [
      'one that says it is failing, where people allow that',
      text({ rootDisk: { raidMembers: [], allowFailing: true } }),
      [disk('A1', { sizeBytes: 5e11, health: 'Failing' }), large],
      ['A1'],
    ],
  ])('H2, H7: is %s', (_, given, disks, serials) => {
    expect(erased(given, disks)).toEqual(serials);
  });

  it.each<[string, Words, readonly HostDisk[], RegExp]>([
    ['there is none', text(), [], /it has none/],
    ['all are protected', text({ protectedDisks: ['eui.a1', 'B2'] }), [small, large], /spec\.protectedDisks/],
    [
      'it holds what others left',
      text(),
      [disk('A1', { holds: ['ext4 on nvme0n1p3'] })],
      /A1 \(960 GB, nvme\) holds ext4 on nvme0n1p3\. Set spec\.wipe/,
    ],
    [
      'its array would be lost',
      text(),
      [
        disk('A1', { arrays: ['B2'], holds: ['linux_raid_member'] }),
        disk('B2', { arrays: ['A1'], holds: ['linux_raid_member'] }),
      ],
      /forms an array with .*B2.*spec\.rootDisk\.raidMembers/,
    ],
    [
      'its array has a protected disk in it',
      text({ wipe: true, protectedDisks: ['B2'] }),
      [disk('A1', { arrays: ['B2'] }), large],
      /forms an array/,
    ],
    [
      'another holds an earlier Talos',
      text(),
      [small, disk('B2', { holds: ['a partition sdb4, named "META"', 'xfs on sdb5, named "STATE"'] })],
      /B2 .*holds an earlier Talos/,
    ],
    [
      'a protected one holds an earlier Talos',
      text({ wipe: true, protectedDisks: ['B2'] }),
      [small, disk('B2', { holds: ['a partition sdb4, named "META"', 'xfs on sdb5, named "STATE"'] })],
      /earlier Talos/,
    ],
    [
      'an earlier Talos is on one that tells no name',
      text({ wipe: true }),
      [small, disk('', { wwn: '', holds: ['a partition sdb4, named "META"'] })],
      /has neither a serial number nor a WWN/,
    ],
    [
      'it says that it is failing and is the only one',
      text(),
      [disk('A1', { health: 'Failing', healthMessage: 'it is read-only' })],
      /A1 \(960 GB, nvme\) would be the root disk and is failing by SMART \(it is read-only\)\. .*spec\.rootDisk\.allowFailing/,
    ],
    [
      'it says that it is failing and is the one that people named',
      text({ rootDisk: { serial: 'A1', raidMembers: [] } }),
      [disk('A1', { health: 'Failing' }), large],
      /A1 .*is failing by SMART\./,
    ],
    [
      'only one with foreign data on it is not failing, although that might be erased',
      text({ wipe: true }),
      [disk('A1', { sizeBytes: 5e11, health: 'Failing' }), disk('B2', { sizeBytes: 2e12, holds: ['ext4 on sdb1'] })],
      /A1 .*is failing by SMART/,
    ],
    ['two have one name', text(), [small, disk('A1', { name: 'sdb' })], /cannot be distinguished/],
  ])('is refused when %s', (_, given, disks, sentence) => {
    expect(erased(given, disks)).toMatch(sentence);
  });

  it.each<[string, Words, readonly HostDisk[], readonly string[]]>([
    [
      'what others left, where the Host says so',
      text({ wipe: true }),
      [disk('A1', { holds: ['ext4'] }), large],
      ['A1'],
    ],
    [
      'an array whose members are named',
      text({ rootDisk: { serial: 'A1', raidMembers: ['B2'] } }),
      [disk('A1', { arrays: ['B2'], holds: ['linux_raid_member'] }), large, rust],
      ['A1', 'B2'],
    ],
    [
      'an earlier Talos on another disk',
      text({ wipe: true }),
      [small, disk('B2', { holds: ['a partition sda4, named "META"'] }), rust],
      ['A1', 'B2'],
    ],
    [
      'an earlier Talos on another disk that is failing',
      text({ wipe: true }),
      [small, disk('B2', { health: 'Failing', holds: ['a partition sda4, named "META"'] })],
      ['A1', 'B2'],
    ],
    ['an earlier Talos in its own place', text(), [disk('A1', { holds: ['a partition sda4, named "META"'] })], ['A1']],
  ])('may replace %s', (_, given, disks, serials) => {
    expect(erased(given, disks)).toEqual(serials);
  });
});

describe('arbitrary disks', () => {
  const anyDisk = fc.record({
    serial: fc.constantFrom('A', 'B', 'C', 'D', ''),
    wwn: fc.constantFrom('eui.1', 'eui.2', 'eui.3', ''),
    type: fc.constantFrom('nvme', 'ssd', 'hdd'),
    sizeBytes: fc.constantFrom(1e9, 5e11, 2e12),
    holds: fc.subarray(['ext4 on sda1', 'ceph_bluestore', 'a partition sda4, named "META"']),
    arrays: fc.subarray(['A', 'B', 'C']),
    health: fc.constantFrom('Passed', 'Failing', 'Unknown', undefined),
  });
  const anyWords = fc.record({
    wipe: fc.boolean(),
    protectedDisks: fc.subarray(['A', 'B', 'eui.1', 'C']),
    rootDisk: fc.record({ raidMembers: fc.subarray(['A', 'B', 'C']) }, { requiredKeys: ['raidMembers'] }),
  });

  it('H31: a protected disk is never erased, and one with foreign data only when allowed', () => {
    fc.assert(
      fc.property(anyWords, fc.array(anyDisk, { maxLength: 4 }), (given, raw) => {
        const disks = raw.map((one) => disk('', one as Partial<HostDisk>));
        const plan = planDisks(given, disks);
        if ('refused' in plan) {
          expect(plan.refused).toMatch(/\.$/);
          return;
        }
        expect(plan.erase[0]).toBe(plan.root);
        expect(plan.root.health).not.toBe('Failing');
        for (const one of plan.erase) {
          expect(diskIdentifierOf(one)).not.toBe('');
          expect(given.protectedDisks.filter((name) => matchesDiskIdentifier(one, name))).toEqual([]);
        }
        const foreign = plan.erase.filter(({ holds }) => holds.some((what) => !what.includes('META')));
        const named = plan.erase.filter((one) =>
          given.rootDisk.raidMembers.some((name) => matchesDiskIdentifier(one, name)),
        );
        if (!given.wipe) expect(foreign.filter((one) => one !== plan.root && !named.includes(one))).toEqual([]);
      }),
    );
  });
});
