import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import {
  createRescueFixture,
  type RescueFixture,
  type RescueFixtureOptions,
} from '../../../../world/robot/rescue/rescue-fixture.ts';

// The scripts of the product run with these programs in its own tests. Here is what its mistakes would meet.

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

const blank = { kind: 'blank' } as const;
const mirror = { kind: 'raid-member', array: '0' } as const;
const raid: RescueFixtureOptions = { disks: { nvme0n1: mirror, nvme1n1: mirror, nvme2n1: blank } };

describe('an array that was put together at boot', () => {
  it.each([
    'dd if=/dev/zero of=/dev/nvme0n1 bs=1M count=1 status=none',
    'wipefs -a -q /dev/nvme0n1',
    'blkdiscard /dev/nvme1n1',
    'echo x > /dev/nvme0n1p1',
    'blockdev --rereadpt /dev/nvme1n1',
  ])('holds its disks: %s', async (script) => {
    const { sh, ledger } = box(raid);
    const outcome = await sh(script);
    expect(outcome.status).not.toBe(0);
    expect(outcome.stderr + outcome.stdout).toMatch(/busy/);
    expect(ledger).toEqual([]);
  });

  it('is below its members, and lets go of them when it is stopped', async () => {
    const { sh } = box(raid);
    expect((await sh('lsblk -nrpo KNAME,TYPE,FSTYPE')).stdout).toBe(
      '/dev/nvme0n1 disk \n/dev/nvme0n1p1 part linux_raid_member\n/dev/md0 raid1 ext4\n' +
        '/dev/nvme1n1 disk \n/dev/nvme1n1p1 part linux_raid_member\n/dev/nvme2n1 disk \n',
    );
    await sh('mdadm --stop /dev/md0; wipefs -a -q /dev/nvme0n1p1; wipefs -a -q /dev/nvme0n1');
    expect((await sh('lsblk -nro NAME')).stdout).toBe('nvme0n1\nnvme1n1\nnvme1n1p1\nnvme2n1\n');
  });

  it('is no LVM: a volume group holds its disk until it is switched off', async () => {
    const { sh } = box({ disks: { sda: { kind: 'lvm', group: 'vg0' } } });
    expect((await sh('pvs --noheadings -o pv_name,vg_name')).stdout.trim().split(/\s+/)).toEqual(['/dev/sda', 'vg0']);
    expect((await sh('wipefs -a -q /dev/sda')).status).toBe(1);
    const off = '  0 logical volume(s) in volume group "vg0" now active\n';
    expect((await sh('vgchange -an vg0 && wipefs -a -q /dev/sda && pvs --noheadings -o pv_name')).stdout).toBe(off);
  });
});

describe('curl', () => {
  const curl = 'curl --fail --silent --show-error --location';

  it.each([
    ['--url http://factory.example/image', 6, 'Could not resolve host: factory.example'],
    ['--proto =https --url http://127.0.0.1:1/', 1, 'Protocol "http" not supported or disabled in libcurl'],
    ['--url http://203.0.113.9/image', 7, 'Failed to connect to 203.0.113.9: No route to host'],
  ])('%s reaches this machine only, and as it may: %d', async (args, status, message) => {
    const stderr = `curl: (${status}) ${message}\n`;
    expect(await box().sh(`${curl} ${args}`)).toEqual({ stdout: '', stderr, status });
  });

  it('gives up a download that stands still for as long as --speed-time says', async () => {
    const url = await serve((_request, response) => {
      response.writeHead(200, { 'content-length': 1000 });
      response.write('begun');
    });
    const message = 'Operation too slow. Less than 1000 bytes/sec transferred the last 60 seconds';
    const outcome = { stdout: 'begun', stderr: `curl: (28) ${message}\n`, status: 28 };
    expect(await box().sh(`${curl} --speed-limit 1000 --speed-time 60 --url ${url}`)).toEqual(outcome);
  });

  it('fills a RAM disk no more than it holds', async () => {
    const { sh } = box({ ramDiskMiB: 1 });
    const url = await serve((_request, response) => response.end(Buffer.alloc(3 * 2 ** 20)));
    const outcome = await sh(`${curl} --url ${url} | tee /tmp/image | wc -c; head -c 3000000 /dev/zero >/tmp/image`);
    expect(outcome.stderr.match(/No space left on device/g)).toHaveLength(2);
  });
});

describe('a disk', () => {
  it('has a WWN and links only once udev has settled', async () => {
    const { sh } = box({ disks: { nvme0n1: blank }, udevSeconds: 20, timeScale: 0.01 });
    const look = 'lsblk -dnro WWN /dev/nvme0n1; for link in /dev/disk/by-id/*; do basename "$link"; done';
    expect((await sh(look)).stdout).toBe('\n*\n');
    const links = ['nvme-EXAMPLE_NV960_EX9600000001', 'nvme-EXAMPLE_NV960_EX9600000001_1', 'nvme-eui.00a1b2c3d4e5f601'];
    expect((await sh(`udevadm settle; ${look}`)).stdout).toBe(['eui.00a1b2c3d4e5f601', ...links, ''].join('\n'));
  });

  it('is busy while a file system of it is mounted', async () => {
    const { sh } = box({ disks: { nvme0n1: { kind: 'ext4' } } });
    const { stderr } = await sh('mount /dev/nvme0n1 /mnt; wipefs -a -q /dev/nvme0n1');
    expect(stderr).toContain('Device or resource busy');
    expect((await sh('lsblk -nro MOUNTPOINT /dev/nvme0n1')).stdout).toBe('/mnt\n');
  });

  it('that does not exist is a file in RAM: dd makes it, and does not ask', async () => {
    const { sh, ledger } = box();
    const path = '/dev/disk/by-id/nvme-OTHER';
    const script = `echo x | dd of=${path} status=none; echo $?; test -b ${path}; echo $?; cat ${path}`;
    expect((await sh(script)).stdout).toBe('0\n1\nx\n');
    const { stderr } = await sh(`rm ${path}; echo x | dd of=${path} conv=nocreat status=none`);
    expect(stderr).toBe(`dd: failed to open '${path}': No such file or directory\n`);
    expect(ledger).toEqual([]);
  });

  it('may keep what was trimmed, and zeros reach it; rotating ones know no TRIM', async () => {
    const { sh } = box({
      disks: { nvme0n1: { kind: 'ext4' }, sda: blank },
      diskBytes: 2 ** 26,
      keepsTrimmed: () => true,
    });
    expect((await sh('blkdiscard /dev/nvme0n1; blkid -p /dev/nvme0n1')).stdout).toBe('/dev/nvme0n1: TYPE="ext4"\n');
    expect((await sh('blkdiscard --zeroout /dev/nvme0n1; blkid -p /dev/nvme0n1')).status).toBe(2);
    expect((await sh('blkdiscard /dev/sda')).stderr).toContain('BLKDISCARD ioctl failed: Operation not supported');
  });

  it('that hangs in SMART blocks its reader, and no signal ends it', async () => {
    const { sh } = box({ smart: { nvme0n1: 'silent' } });
    const ask = '{ timeout -k 1 1 smartctl --json=c -H /dev/nvme0n1; echo >/tmp/over; } >/dev/null 2>&1 &';
    expect((await sh(`${ask} sleep 60; test -e /tmp/over`)).status).toBe(1);
  });
});

describe('the boot menu', () => {
  it('cannot be changed before its variables are mounted for writing', async () => {
    const { sh, hardware } = box();
    const stderr = 'Could not set BootOrder: Read-only file system\n';
    expect(await sh('efibootmgr -o 0003,0002')).toMatchObject({ status: 5, stderr });
    expect((await sh('efibootmgr -b 0003 -B')).status).toBe(5);
    expect(hardware.firmware.order).toEqual(['0002', '0003', '0000']);
    await sh('mount -o remount,rw /sys/firmware/efi/efivars && efibootmgr -q -b 0000 -B && efibootmgr -q -o 0003,0002');
    expect(hardware.firmware.order).toEqual(['0003', '0002']);
    for (const order of ['0003,0002,', '0009']) expect((await sh(`efibootmgr -o ${order}`)).status).toBe(8);
  });

  it('is not there without UEFI', async () => {
    const stderr = 'EFI variables are not supported on this system.\n';
    expect(await box({ firmware: 'bios' }).sh('efibootmgr -v')).toMatchObject({ status: 2, stderr });
  });
});

it('nothing runs on the host', async () => {
  const { sh } = box();
  expect((await sh('node -e 1; python3; /usr/bin/node')).stderr.match(/not found/g)).toHaveLength(3);
  expect((await sh(`cat ${import.meta.filename ?? '/etc/fstab'}`)).status).toBe(1);
});

const smartDisks: RescueFixtureOptions = {
  disks: { nvme0n1: blank, sda: blank, sdb: blank },
  smart: { sda: 'failing', sdb: 'none' },
};
it.each([
  ['blkid -p /dev/nvme0n1', 2],
  ['blkid -p /dev/nvme9n1', 2],
  ['lsblk -nro NAME /dev/nvme9n1', 32],
  ['lsblk -nro NOTHING', 1],
  ['wipefs /dev/nvme9n1', 1],
  ['blockdev --getsize64 /dev/nvme9n1', 1],
  ['smartctl --json=c -H /dev/nvme0n1', 0],
  ['smartctl --json=c -H /dev/sda', 8],
  ['smartctl --json=c -H -A /dev/sda', 24],
  ['smartctl --json=c -i /dev/sdb', 1],
  ['smartctl --json=c -H /dev/sdz', 1],
])('%s has the status of the real one', async (script, status) => {
  expect((await box(smartDisks).sh(script)).status).toBe(status);
});

it.each([
  ["printf 'a=1\\nb=2\\n' | sed -n 's/^b=//p'", '2\n'],
  ["echo 'hello world' | sed 's/\\(h\\)\\(ello\\)/\\2\\1/'", 'elloh world\n'],
  ["echo 'foo' | sed 's,o,0,g'", 'f00\n'],
  ["printf 'x\\ny\\n' | sed -n '1s/[[:space:]]*x/z/p'", 'z\n'],
  ["printf 'A b\\nc\\n' | grep -ci 'a.[bc]'", '1\n'],
  ["printf 'a b c' | cut -d' ' -f2", 'b\n'],
  ["printf 'b\\na\\nb\\n' | sort -u", 'a\nb\n'],
  ["printf '1\\n2\\n3' | tail -n 2; printf '1\\n2\\n' | head -n 1", '2\n31\n'],
  ["echo 'a  b' | tr -s ' ' | tr 'ab' 'xy'", 'x y\n'],
  ["timeout -k 1 5 sh -c 'exit 3'; echo $?; timeout -k 1 5 sleep 1000; echo $?", '3\n124\n'],
  ['x=$(mktemp -d); echo >$x/f; echo $x/* | wc -w; rm -rf $x; [ -e $x ]; echo $?', '1\n1\n'],
  ['seq 3; seq 1 2 5', '1\n2\n3\n1\n3\n5\n'],
])('%s', async (script, stdout) => {
  expect((await box({ disks: {} }).sh(script)).stdout).toBe(stdout);
});
