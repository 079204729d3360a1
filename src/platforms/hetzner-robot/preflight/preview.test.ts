import { expect, it } from 'vitest';
import { HostSpec } from '../../../api/host.ts';
import type { HostDisk, HostState } from '../../../engine/host.ts';
import { previewDisks } from './preview.ts';

const disk = (serial: string, sizeGb: number, holds: readonly string[] = [], arrays?: readonly string[]): HostDisk => ({
  ...{ name: serial, model: 'EXAMPLE', serial, wwn: '', sizeBytes: sizeGb * 1e9, type: 'nvme', holds, arrays },
});

const effects = (text: object, disks: readonly HostDisk[] | undefined, state: HostState = 'Available') => {
  const spec = HostSpec.parse({ serverID: '7', hetznerRobot: {}, expect: { product: 'AX42' }, ...text });
  const hardware = disks && {
    ...{ cpu: { model: '', threads: 1 }, memoryMiB: 1, firmware: 'uefi' as const, nics: [] },
    ...{ disks, inspectedAt: '2026-11-22T00:00:00Z' },
  };
  return previewDisks({ name: 'rack-7', number: 7, spec, state, hardware });
};
const short = (lines: ReturnType<typeof effects>) =>
  lines.map(({ effect, subject }) => `${effect} ${subject.split(' (')[0]}`);

it('shows for each disk whether it is erased, kept or protected', () => {
  const disks = [disk('A1', 512, ['an empty partition table (gpt)']), disk('B2', 960, ['ext4 on B2']), disk('C3', 960)];
  const lines = effects({ wipe: true, protectedDisks: ['C3'] }, disks);
  expect(short(lines)).toEqual(['erases EXAMPLE A1', 'keeps EXAMPLE B2', 'protects EXAMPLE C3']);
  expect(lines[0]?.subject).toMatch(/: an empty partition table \(gpt\); Talos is installed to it$/);
});

it('names the members of an array that would be lost with the root disk', () => {
  const disks = [
    disk('A1', 512, ['linux_raid_member on A1'], ['B2']),
    disk('B2', 512, ['linux_raid_member on B2'], ['A1']),
  ];
  expect(short(effects({ wipe: true }, disks))).toEqual(['erases EXAMPLE A1', 'erases EXAMPLE B2']);
  expect(effects({}, disks)[0]).toMatchObject({ effect: 'blocked', subject: expect.stringMatching(/forms an array/) });
});

it('refuses with the sentence of the step, and erases nothing', () => {
  const lines = effects({}, [disk('A1', 512, ['ext4 on A1'])]);
  expect(lines[0]).toEqual({
    effect: 'blocked',
    subject: expect.stringMatching(/^Server 7: EXAMPLE A1 .* holds ext4 on A1\. Set spec\.wipe/),
  });
  expect(lines.map(({ effect }) => effect)).toEqual(['blocked', 'keeps']);
});

it('explains how to inspect a server without an inspection', () => {
  expect(effects({}, undefined)).toEqual([
    { effect: 'unknown', subject: expect.stringMatching(/annotate Host rack-7 /) },
  ]);
});

it('erases nothing of a server in use', () => {
  const lines = effects({ wipe: true }, [disk('A1', 512)], 'Provisioned');
  expect(new Set(lines.map(({ effect }) => effect))).toEqual(new Set(['keeps']));
});
