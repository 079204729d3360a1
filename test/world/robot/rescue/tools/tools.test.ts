import { createHash } from 'node:crypto';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { encodeZstd } from '../../../compression/zstd/encode.ts';
import { readAt } from '../../../disk-format/sparse-file.ts';
import { encodeRawImage } from '../../../talos/boot/disk-partitions.ts';
import { findBootableSystem } from '../../disks/bootable-system.ts';
import { createRescueFixture, type RescueFixture, type RescueFixtureOptions } from '../rescue-fixture.ts';

const closers: (() => void)[] = [];
afterEach(() => {
  for (const close of closers.splice(0)) close();
});

function box(options: RescueFixtureOptions = {}): RescueFixture {
  const made = createRescueFixture({ diskBytes: 64 * 2 ** 30, ...options });
  closers.push(() => made.close());
  return made;
}

/** A server that answers everything in one way. */
async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closers.push(() => {
    server.close();
    server.closeAllConnections();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const raid: RescueFixtureOptions = {
  disks: {
    nvme0n1: { kind: 'raid-member', array: '0' },
    nvme1n1: { kind: 'raid-member', array: '0' },
    nvme2n1: { kind: 'blank' },
  },
};

describe('what is on disks', () => {
  it('is told by lsblk in the form that known provisioners read', async () => {
    const { sh } = box({ disks: { nvme0n1: { kind: 'blank' }, sda: { kind: 'ceph' } } });
    const { stdout } = await sh('lsblk -b -P -o NAME,TYPE,SIZE,VENDOR,MODEL,SERIAL,WWN,HCTL,ROTA');
    expect(stdout).toBe(
      'NAME="nvme0n1" TYPE="disk" SIZE="68719476736" VENDOR="" MODEL="EXAMPLE NV960" SERIAL="EX9600000001" WWN="eui.00a1b2c3d4e5f601" HCTL="" ROTA="0"\n' +
        'NAME="sda" TYPE="disk" SIZE="68719476736" VENDOR="ATA     " MODEL="EXAMPLE HD4000" SERIAL="EXHD0002" WWN="0x5000c500aabbcc02" HCTL="1:0:0:0" ROTA="1"\n',
    );
  });

  it('is told by lsblk as JSON with every column, an array below each of its members', async () => {
    const { sh } = box(raid);
    const { blockdevices } = JSON.parse((await sh('lsblk -J -b -O')).stdout);
    const member = blockdevices[1].children[0];
    expect(Object.keys(blockdevices[0])).toHaveLength(65);
    expect([member.fstype, member.children[0].type, member.children[0].fstype]).toEqual([
      'linux_raid_member',
      'raid1',
      'ext4',
    ]);
    const { stdout } = await sh('lsblk -J -b -O --list');
    expect(JSON.parse(stdout).blockdevices.map(({ name }: { name: string }) => name)).toEqual([
      ...['nvme0n1', 'nvme0n1p1', 'md0', 'nvme1n1', 'nvme1n1p1', 'nvme2n1'],
    ]);
  });

  it.each([
    ['blkid -p -o export /dev/nvme0n1', 2],
    ['blkid -p /dev/nvme9n1', 2],
    ['lsblk /dev/nvme9n1', 32],
    ['wipefs /dev/nvme9n1', 1],
    ['blockdev --getsize64 /dev/nvme9n1', 1],
    ['sgdisk -p /dev/nvme9n1', 2],
    ['lsblk -o NOTHING', 1],
  ])('%s has status %d', async (script, status) => {
    expect((await box().sh(script)).status).toBe(status);
  });

  it('has WWNs and links only once udev has settled', async () => {
    const { sh } = box({ disks: { nvme0n1: { kind: 'blank' } }, udevSeconds: 20, timeScale: 0.01 });
    expect((await sh('lsblk -dno WWN /dev/nvme0n1; ls /dev/disk/by-id')).stdout).toBe('\n');
    expect((await sh('udevadm settle; lsblk -dno WWN /dev/nvme0n1; ls /dev/disk/by-id')).stdout).toBe(
      'eui.00a1b2c3d4e5f601\nnvme-EXAMPLE_NV960_EX9600000001\nnvme-EXAMPLE_NV960_EX9600000001_1\nnvme-eui.00a1b2c3d4e5f601\n',
    );
  });

  it('of a partition table is what the kernel read last: an image shows after a look at it', async () => {
    const { sh, system } = box();
    const access = system.storage.disks[0];
    const image = encodeRawImage(talos, Buffer.alloc(1000, 'kernel'));
    access?.write(0, image, 'test');
    const names = 'lsblk -nro PARTLABEL /dev/nvme0n1 | grep .';
    expect((await sh(names)).status).toBe(1);
    expect((await sh(`blockdev --rereadpt /dev/nvme0n1; ${names}`)).stdout).toBe('EFI\nBIOS\nBOOT\nMETA\n');
  });

  it('is in the files of a Linux that somebody mounts, and busy until it is unmounted', async () => {
    const { sh } = box({
      disks: { nvme0n1: { kind: 'linux', hostname: 'theirs', authorizedKeys: ['ssh-ed25519 AAAA'] } },
    });
    const { stdout } = await sh(
      'mount -o ro /dev/nvme0n1p3 /mnt; cat /mnt/etc/hostname /mnt/root/.ssh/authorized_keys',
    );
    expect(stdout).toBe('theirs\nssh-ed25519 AAAA\n');
    expect((await sh('wipefs -a /dev/nvme0n1')).stderr).toContain('Device or resource busy');
    expect((await sh('umount /mnt; wipefs -qa /dev/nvme0n1; ls /mnt')).stdout).toBe('');
  });
});

describe('an array that was put together at boot', () => {
  it.each([
    'dd if=/dev/zero of=/dev/nvme0n1 bs=1M count=1',
    'wipefs -a /dev/nvme0n1',
    'blkdiscard /dev/nvme1n1',
    'sgdisk -Z /dev/nvme0n1',
    'mdadm --zero-superblock /dev/nvme0n1p1',
    'echo x > /dev/nvme0n1p1',
    'blockdev --rereadpt /dev/nvme1n1',
  ])('holds its disks: %s', async (script) => {
    const { sh, ledger } = box(raid);
    const outcome = await sh(script);
    expect(outcome.status).not.toBe(0);
    expect(outcome.stderr + outcome.stdout).toMatch(/busy|not zeroing/);
    expect(ledger).toEqual([]);
  });

  it('lets go of them when it is stopped, and comes back unless its superblocks go', async () => {
    const { sh } = box(raid);
    expect((await sh('mdadm --detail --scan')).stdout).toMatch(/^ARRAY \/dev\/md\/0 metadata=1\.2 name=rescue:0 UUID=/);
    await sh('mdadm --stop /dev/md0; mdadm --assemble --scan');
    expect((await sh('grep -c "^md0 : active" /proc/mdstat')).stdout).toBe('1\n');
    await sh(
      'mdadm --stop --scan; mdadm --zero-superblock /dev/nvme0n1p1 /dev/nvme1n1p1; wipefs -a /dev/nvme0n1 /dev/nvme1n1',
    );
    expect((await sh('mdadm --assemble --scan')).status).toBe(1);
    expect((await sh('lsblk -nro NAME')).stdout).toBe('nvme0n1\nnvme1n1\nnvme2n1\n');
  });

  it('is no LVM: a volume group holds its disk until it is switched off', async () => {
    const { sh } = box({ disks: { sda: { kind: 'lvm', group: 'vg0' } } });
    expect((await sh('pvs --noheadings -o pv_name,vg_name')).stdout.trim().split(/\s+/)).toEqual(['/dev/sda', 'vg0']);
    expect((await sh('wipefs -a /dev/sda')).status).toBe(1);
    expect((await sh('vgchange -an vg0 && wipefs -qa /dev/sda && vgs')).stdout).toBe(
      '  0 logical volume(s) in volume group "vg0" now active\n',
    );
  });
});

const talos = {
  platform: 'metal',
  arch: 'amd64',
  version: '1.13.9',
  schematic: 'a'.repeat(64),
  kernelArguments: [],
  extensions: [],
};

describe('an image on its way to a disk', () => {
  const image = encodeRawImage(
    talos,
    createHash('shake256', { outputLength: 2 ** 20 })
      .update('kernel')
      .digest(),
  );
  const frame = encodeZstd(image);
  const write = (url: string): string =>
    `bash -c 'set -euo pipefail; curl -fsSL "$1" | tee >(sha256sum >/tmp/packed) | zstdcat | tee >(sha256sum >/tmp/plain) | dd of=/dev/disk/by-id/nvme-EXAMPLE_NV960_EX9600000001 bs=4M oflag=direct conv=fsync status=none; echo "\${PIPESTATUS[@]}"' write ${url}`;

  it('is written, and each of its hashes is right', async () => {
    const { sh, ledger, hardware } = box();
    const url = await serve((_request, response) => response.end(frame));
    const outcome = await sh(write(`${url}/metal-amd64.raw.zst`));
    expect(outcome).toEqual({ stdout: '0 0 0 0 0\n', stderr: '', status: 0 });
    await expect
      .poll(async () => (await sh('cut -c1-64 /tmp/packed /tmp/plain')).stdout)
      .toBe([frame, image].map((bytes) => `${createHash('sha256').update(bytes).digest('hex')}\n`).join(''));
    const [disk] = hardware.disks;
    expect(readAt(disk!.path, 0, image.length).equals(image)).toBe(true);
    expect(findBootableSystem(disk!, 'uefi')).toEqual({ kind: 'talos' });
    expect(ledger.reduce((sum, { length }) => sum + length, 0)).toBe(image.length);
    expect(new Set(ledger.map(({ serial, by }) => `${serial} ${by}`))).toEqual(new Set(['EX9600000001 dd']));
    const readBack = await sh(
      `head -c ${image.length} /dev/nvme0n1 | sha256sum; head -c ${image.length} /dev/nvme0n1 | cmp -n ${image.length} - /dev/nvme0n1`,
    );
    expect(readBack.stdout).toBe(`${createHash('sha256').update(image).digest('hex')}  -\n`);
  });

  it('goes through a FIFO as well, with jobs that are waited for', async () => {
    const { sh } = box();
    const url = await serve((_request, response) => response.end(frame));
    const { stdout } = await sh(
      `mkfifo /tmp/f; sha256sum </tmp/f >/tmp/sum & hash=$!; curl -fsSL ${url} | tee /tmp/f | zstdcat | dd of=/dev/nvme0n1 bs=4M status=none; wait $hash; echo $?; cut -c1-64 /tmp/sum`,
    );
    expect(stdout).toBe(`0\n${createHash('sha256').update(frame).digest('hex')}\n`);
  });

  it('that is cut off fails at both ends of the pipe, and only with pipefail as a whole', async () => {
    const { sh } = box();
    const url = await serve((_request, response) => {
      response.writeHead(200, { 'content-length': frame.length });
      response.write(frame.subarray(0, 700_000), () => response.destroy());
    });
    const strict = await sh(
      `bash -c 'set -o pipefail; curl -fsSL ${url} | zstdcat | dd of=/dev/nvme0n1 bs=4M status=none; echo $? "\${PIPESTATUS[@]}"'`,
    );
    expect(strict.stderr).toMatch(/curl: \(18\) transfer closed with \d+ bytes remaining to read/);
    expect(strict.stderr).toContain('/*stdin*\\ : Read error (39) : premature end');
    expect(strict.stdout).toBe('1 18 1 0\n'.replace(/^1 /, '1 '));
    expect((await sh(`curl -fsSL ${url} | zstdcat | dd of=/dev/nvme0n1 bs=4M status=none`)).status).toBe(0);
  });

  it('that is not there is an error page for nobody', async () => {
    const { sh, ledger } = box();
    const url = await serve((_request, response) => response.writeHead(404).end('not found'));
    const outcome = await sh(
      `bash -c 'set -o pipefail; curl -fsSL ${url} | zstdcat | dd of=/dev/nvme0n1 bs=4M status=none; echo "\${PIPESTATUS[@]}"'`,
    );
    expect(outcome.stderr).toContain('curl: (22) The requested URL returned error: 404');
    expect(outcome.stdout).toBe('22 1 0\n');
    expect(ledger).toEqual([]);
  });

  it('does not fit a disk that is smaller', async () => {
    const { sh } = box({ diskBytes: 6 * 2 ** 20 });
    const url = await serve((_request, response) => response.end(frame));
    const outcome = await sh(
      `bash -c 'set -o pipefail; curl -fsSL ${url} | zstdcat | dd of=/dev/nvme0n1 bs=1M iflag=fullblock status=none'`,
    );
    expect(outcome.status).toBe(1);
    expect(outcome.stderr).toContain("dd: error writing '/dev/nvme0n1': No space left on device");
  });

  it('does not fit into RAM, either, when it is kept there', async () => {
    const { sh } = box({ ramDiskMiB: 1 });
    const url = await serve((_request, response) => response.end(Buffer.alloc(3 * 2 ** 20)));
    expect(await sh(`curl -fsS -o /tmp/image ${url}`)).toMatchObject({
      status: 23,
      stderr: 'curl: (23) Failure writing output to destination\n',
    });
    expect((await sh('rm /tmp/image; head -c 3000000 /dev/zero >/tmp/image')).stderr).toContain(
      'No space left on device',
    );
  });

  it('comes from this machine only', async () => {
    const { sh } = box();
    expect((await sh('curl -sS http://factory.example/image')).stderr).toBe(
      'curl: (6) Could not resolve host: factory.example\n',
    );
    const refused = await sh('curl -sS --proto =https http://127.0.0.1:1/');
    expect(refused).toMatchObject({
      status: 1,
      stderr: 'curl: (1) Protocol "http" not supported or disabled in libcurl\n',
    });
    expect((await sh('curl -sS http://203.0.113.9/image')).status).toBe(7);
    expect((await sh('curl -sS http://127.0.0.1:1/')).status).toBe(7);
  });

  it('is a file in RAM when no device has the name: dd makes it, and does not ask', async () => {
    const { sh, ledger } = box();
    const path = '/dev/disk/by-id/nvme-OTHER';
    expect(
      (await sh(`echo x | dd of=${path} status=none; echo $?; test -b ${path}; echo $?; cat ${path}`)).stdout,
    ).toBe('0\n1\nx\n');
    expect((await sh(`rm ${path}; echo x | dd of=${path} conv=nocreat status=none`)).stderr).toBe(
      `dd: failed to open '${path}': No such file or directory\n`,
    );
    expect(ledger).toEqual([]);
  });
});

describe('wiping', () => {
  it('by zeros at head, middle and tail leaves nothing to recognise', async () => {
    const { sh } = box({ disks: { sda: { kind: 'ceph' } }, diskBytes: 4 * 2 ** 30 });
    await sh(
      'for at in 0 1024 4095; do dd if=/dev/zero of=/dev/sda bs=1M seek=$at count=1 conv=fsync status=none; done',
    );
    expect(
      (
        await sh(
          'head -c 9 /dev/sda | tr -d "\\0"; dd if=/dev/sda bs=1M skip=1024 count=1 status=none | tr -d "\\0" | wc -c; tail -c 4096 /dev/null; wipefs /dev/sda',
        )
      ).stdout,
    ).toBe('0\n');
  });

  it('by TRIM is advice: a drive may keep what it has, and zeros reach it', async () => {
    const { sh } = box({ disks: { nvme0n1: { kind: 'ext4' } }, diskBytes: 64 * 2 ** 20, keepsTrimmed: () => true });
    expect((await sh('blkdiscard -f /dev/nvme0n1; blkid -p -o value -s TYPE /dev/nvme0n1')).stdout).toBe('ext4\n');
    expect((await sh('blkdiscard -z /dev/nvme0n1; blkid -p /dev/nvme0n1')).status).toBe(2);
  });

  it('by TRIM clears a drive that takes the advice, and rotating ones know none', async () => {
    const { sh } = box({ disks: { nvme0n1: { kind: 'linux', hostname: 'old' }, sda: { kind: 'ext4' } } });
    expect((await sh('blkdiscard /dev/nvme0n1; wipefs /dev/nvme0n1')).stdout).toBe('');
    expect((await sh('blkdiscard /dev/sda')).stderr).toBe(
      'blkdiscard: /dev/sda: BLKDISCARD ioctl failed: Operation not supported\n',
    );
  });
});

describe('the boot menu', () => {
  it('cannot be changed before its variables are mounted for writing', async () => {
    const { sh, hardware } = box();
    expect(await sh('efibootmgr -o 0003,0002')).toMatchObject({
      status: 5,
      stderr: 'Could not set BootOrder: Read-only file system\n',
    });
    expect((await sh('efibootmgr -b 0003 -B')).status).toBe(5);
    expect(hardware.firmware.order).toEqual(['0002', '0003', '0000']);
    await sh('mount -o remount,rw /sys/firmware/efi/efivars && efibootmgr -q -b 0000 -B && efibootmgr -q -o 0003,0002');
    expect(hardware.firmware.order).toEqual(['0003', '0002']);
    expect(hardware.firmware.entries.map(({ id }) => id)).toEqual(['0002', '0003']);
  });

  it('refuses an order with a trailing comma or an entry that is not there', async () => {
    const { sh } = box();
    await sh('mount -o remount,rw efivars /sys/firmware/efi/efivars');
    expect((await sh('efibootmgr -o 0003,0002,')).status).toBe(8);
    expect((await sh('efibootmgr -o 0009')).status).toBe(8);
  });

  it('is not there without UEFI', async () => {
    const { sh } = box({ firmware: 'bios' });
    expect(await sh('efibootmgr; ls -d /sys/firmware/efi')).toMatchObject({
      status: 2,
      stderr:
        "EFI variables are not supported on this system.\nls: cannot access '/sys/firmware/efi': No such file or directory\n",
    });
  });
});

describe('proofs', () => {
  it('that this is a rescue system: its root is in RAM, its name, its greeting', async () => {
    const { stdout } = await box().sh(
      'findmnt -no FSTYPE,SOURCE /; hostname; grep -c "Hetzner Rescue System" /etc/motd',
    );
    expect(stdout).toBe('tmpfs rescue\nrescue\n1\n');
  });

  it('that this is the machine: MAC, gateway and address', async () => {
    const { sh } = box();
    const [route] = JSON.parse((await sh('ip -j route show default')).stdout);
    expect(route).toMatchObject({ dst: 'default', gateway: '203.0.113.1', dev: 'eth0' });
    const [link] = JSON.parse((await sh('ip -j link show dev eth0')).stdout);
    expect(link).toMatchObject({ address: '02:00:5e:00:00:01', operstate: 'UP' });
    expect((await sh('cat /sys/class/net/eth0/address; ethtool -P eth0')).stdout).toBe(
      '02:00:5e:00:00:01\nPermanent address: 02:00:5e:00:00:01\n',
    );
  });

  it('nothing of it runs on the host', async () => {
    const { sh } = box();
    expect((await sh('node -e 1; python3; /usr/bin/node')).stderr.match(/not found/g)).toHaveLength(3);
    expect((await sh(`cat ${import.meta.filename ?? '/etc/fstab'}`)).status).toBe(1);
  });
});

describe('text', () => {
  it.each([
    ["printf 'a=1\\nb=2\\n' | sed -n 's/^b=//p'", '2\n'],
    ["echo 'hello world' | sed -E 's/(h)(ello)/\\2\\1/; s/o/0/g'", 'ell0h w0rld\n'],
    ["printf '1\\n2\\n3\\n' | sed '2d'", '1\n3\n'],
    ["printf 'x y\\nz\\n' | grep -o '[a-y]'", 'x\ny\n'],
    ["printf 'a.b\\naxb\\n' | grep -F a.b", 'a.b\n'],
    ["printf 'one\\ntwo\\n' | grep -vc one", '1\n'],
    ["printf 'a b c' | cut -d' ' -f2", 'b\n'],
    ["printf 'b\\na\\nb\\n' | sort -u", 'a\nb\n'],
    ['echo aGk= | base64 -d', 'hi'],
    ["timeout 5 sh -c 'exit 3'; echo $?; timeout 5 sleep 1000; echo $?", '3\n124\n'],
    ["echo 'a b' | xargs -n1 echo x", 'x a\nx b\n'],
    ['x=$(mktemp -d); touch $x/f; ls $x; rm -rf $x; ls $x 2>/dev/null; echo $?', 'f\n2\n'],
    ['printf abc | tee /tmp/a >/dev/null; wc -c </tmp/a; cat /tmp/a | sha256sum -c - 2>/dev/null; echo $?', '3\n1\n'],
    ["printf '#!/bin/bash\\nset -o pipefail\\necho $0 $1\\n' >/tmp/s; chmod +x /tmp/s; /tmp/s x", '/tmp/s x\n'],
  ])('%s', async (script, stdout) => {
    expect((await box({ disks: {} }).sh(script)).stdout).toBe(stdout);
  });
});
