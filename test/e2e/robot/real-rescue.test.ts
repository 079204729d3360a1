import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { createReadStream, mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, expect, it } from 'vitest';
import { makeRawImage } from '../../world/robot/rescue/test-raw-image.ts';
import { efiFilePath, efiNetworkPath, writeBootMenu } from '../support/rescue/efi-variables.ts';
import { missingForRealRescue, runBesideRealRescue } from '../support/rescue/real-rescue.ts';

const run = promisify(execFile);
const support = join(import.meta.dirname, '../support');
const folder = mkdtempSync(join(tmpdir(), 'real-rescue-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/**
 * Fills disks with the real programs: each file system is made in a file of its own, and copied to the start of its
 * partition.
 */
const fillScript = `
set -eu
export PATH=$PATH:/usr/sbin:/sbin
cd "$1"
for number in 0 1 2 3 4 5 6; do truncate -s 2G $number.raw; done
sgdisk -n1:2048:+200M -c1:EFI -n2:0:+400M -c2:STATE -n3:0:0 -c3:EPHEMERAL 0.raw >/dev/null
truncate -s 200M efi
mkfs.vfat -F 32 -n EFI efi >/dev/null
truncate -s 400M state
mkfs.xfs -q -L STATE state
truncate -s 1G ephemeral
mkfs.ext4 -q ephemeral
dd if=efi of=0.raw bs=1M seek=1 conv=notrunc,sparse status=none
dd if=state of=0.raw bs=1M seek=201 conv=notrunc,sparse status=none
dd if=ephemeral of=0.raw bs=1M seek=601 conv=notrunc,sparse status=none
mkfs.btrfs -q 1.raw >/dev/null
sgdisk -n1:2048:+100M -n2:0:0 2.raw >/dev/null
truncate -s 100M swap
mkswap swap >/dev/null
dd if=swap of=2.raw bs=1M seek=1 conv=notrunc,sparse status=none
mkfs.ext4 -q -L protected 3.raw
loop=$(losetup -f --show 4.raw)
trap 'losetup -d "$loop"' EXIT
pvcreate -q -y "$loop" >/dev/null
vgcreate -q data "$loop" >/dev/null
printf secret | cryptsetup luksFormat -q --type luks2 --pbkdf pbkdf2 --pbkdf-force-iterations 1000 5.raw -
mkntfs -F -q 6.raw >/dev/null
rm efi state ephemeral swap
`;

async function hashOf(path: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(path)) hash.update(chunk as Buffer);
  return hash.digest('hex');
}

it('erases and writes with the tools of a real Linux, over its own OpenSSH', { timeout: 240_000 }, async ({ skip }) => {
  const reason = missingForRealRescue(['cryptsetup', 'mkntfs']);
  if (reason !== undefined) return skip(reason);
  writeFileSync(join(folder, 'image'), makeRawImage(150));
  await run('sh', ['-c', fillScript, 'sh', folder]);
  const protectedDisk = join(folder, '3.raw');
  const before = await hashOf(protectedDisk);
  const visit = join(support, 'rescue/real-rescue-script.ts');
  const stdout = await runBesideRealRescue(folder, visit, [join(folder, 'image')], 220);
  const seen = JSON.parse(stdout);
  expect(seen.notRescue).toBeUndefined();
  expect(seen.identity).toMatchObject({ hostname: 'rescue', rootDevice: '', rootType: 'overlay' });
  const held = [
    [/vfat on \w+1, named "EFI"/, /xfs on \w+2, named "STATE"/, /ext4 on \w+3/],
    [/btrfs on/],
    [/swap on \w+1/, /a partition \w+2/],
    [/ext4 on \w+, named "protected"/],
    [/LVM2_member on/],
    [/crypto_LUKS on/],
    [/ntfs on/],
  ].map((list) => list.map((pattern) => expect.stringMatching(pattern)));
  expect(seen.before).toEqual(held);
  expect(seen.wiped).toMatchObject({ kind: 'done', facts: { disks: 6 } });
  expect(seen.clean).toEqual([[], [], [], held[3], [], [], []]);
  expect(seen.wrong).toMatchObject({
    kind: 'failed',
    code: 'RESCUE_IMAGE_WRONG',
    message: expect.stringContaining(seen.sha256),
  });
  expect(seen.still).toEqual([]);
  const facts = { bytes: 150 * 2 ** 20, compressedSha256: seen.sha256, checkedBy: 'checksum' };
  expect(seen.written).toEqual({ kind: 'done', facts });
  expect(seen.after[0].map((words: string) => words.replace(/.*named/, ''))).toEqual([
    ' "EFI"',
    ' "BIOS"',
    ' "BOOT"',
    ' "META"',
  ]);
  expect(seen.after.slice(1)).toEqual([[], [], held[3], [], [], []]);
  const { inXz } = seen;
  const xzFacts = { bytes: 24 * 2 ** 20, compressedSha256: inXz.sha256, checkedBy: 'checksum' };
  expect(inXz.written).toEqual({ kind: 'done', facts: xzFacts });
  expect(inXz.cut).toMatchObject({ code: 'RESCUE_IMAGE_TRUNCATED', message: expect.stringContaining('xz: ') });
  expect(inXz.wrong).toMatchObject({ code: 'RESCUE_IMAGE_WRONG', message: expect.stringContaining('corrupt') });
  // Loop devices have no SMART, and smartctl may be missing.
  expect(new Set(seen.health)).toEqual(new Set(['Unknown']));
  expect(seen.order).toEqual({ firmware: 'bios' });
  expect(await hashOf(protectedDisk)).toBe(before);
  truncateSync(join(folder, '0.raw'), 150 * 2 ** 20);
  expect(await hashOf(join(folder, '0.raw'))).toBe(await hashOf(join(folder, 'image')));
  truncateSync(join(folder, '1.raw'), 24 * 2 ** 20);
  expect(await hashOf(join(folder, '1.raw'))).toBe(inXz.rawSha256);
});

it('P13: keeps the network first with the efibootmgr of a real Linux, and removes stale entries', async ({ skip }) => {
  const reason = missingForRealRescue(['efibootmgr']);
  if (reason !== undefined) return skip(reason);
  const place = join(folder, 'uefi');
  const [there, gone] = ['2c1e4f60-7d3a-4b5c-8e9f-0a1b2c3d4e5f', 'deadbeef-7d3a-4b5c-8e9f-0a1b2c3d4e5f'];
  writeBootMenu(
    join(place, 'efivars'),
    [
      { label: 'debian', path: efiFilePath(gone, '\\EFI\\debian\\shimx64.efi') },
      { label: 'Talos', path: efiFilePath(there, '\\EFI\\systemd\\systemd-bootx64.efi') },
      { label: 'UEFI: second card', path: efiNetworkPath('02:00:5e:00:00:02') },
      { label: 'UEFI: first card', path: efiNetworkPath('02:00:5e:00:00:01') },
    ],
    3,
  );
  await run('sh', [
    '-c',
    `truncate -s 1G "$1" && sgdisk -n1:2048:+100M -c1:EFI -u1:${there} "$1"`,
    'sh',
    join(place, '0.raw'),
  ]);
  const seen = JSON.parse(await runBesideRealRescue(place, join(support, 'rescue/real-boot-order-script.ts'), [], 60));
  const order = ['UEFI: first card', 'UEFI: second card', 'Talos'];
  expect(seen).toEqual({
    firmware: 'uefi',
    first: { firmware: 'uefi', order, removed: ['debian'], networkFirst: true },
    second: { firmware: 'uefi', order, removed: [], networkFirst: true },
  });
});
