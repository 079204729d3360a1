import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { encodeRawImage } from '../../../talos/boot/disk-partitions.ts';
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
  it('is told by lsblk once for each device, an array below its members', async () => {
    const { sh } = box(raid);
    const { stdout } = await sh('lsblk -nrpo KNAME,TYPE,FSTYPE');
    expect(stdout).toBe(
      '/dev/nvme0n1 disk \n/dev/nvme0n1p1 part linux_raid_member\n/dev/md0 raid1 ext4\n' +
        '/dev/nvme1n1 disk \n/dev/nvme1n1p1 part linux_raid_member\n/dev/nvme2n1 disk \n',
    );
    expect((await sh('lsblk -P -b -o NAME,SIZE,SERIAL /dev/nvme2n1')).stdout).toBe(
      'NAME="nvme2n1" SIZE="68719476736" SERIAL="EX9600000003"\n',
    );
  });

  it.each([
    ['blkid -p /dev/nvme0n1', 2],
    ['blkid -p /dev/nvme9n1', 2],
    ['lsblk -nro NAME /dev/nvme9n1', 32],
    ['wipefs /dev/nvme9n1', 1],
    ['blockdev --getsize64 /dev/nvme9n1', 1],
    ['lsblk -nro NOTHING', 1],
  ])('%s has status %d', async (script, status) => {
    expect((await box().sh(script)).status).toBe(status);
  });

  it('has WWNs and links only once udev has settled', async () => {
    const { sh } = box({ disks: { nvme0n1: { kind: 'blank' } }, udevSeconds: 20, timeScale: 0.01 });
    expect((await sh('lsblk -dnro WWN /dev/nvme0n1; echo /dev/disk/by-id/*')).stdout).toBe('\n/dev/disk/by-id/*\n');
    expect(
      (await sh('udevadm settle; lsblk -dnro WWN /dev/nvme0n1; for link in /dev/disk/by-id/*; do basename $link; done'))
        .stdout,
    ).toBe(
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

  it('is busy while a file system of it is mounted', async () => {
    const { sh } = box({ disks: { nvme0n1: { kind: 'ext4' } } });
    expect((await sh('mount /dev/nvme0n1 /mnt; wipefs -a -q /dev/nvme0n1')).stderr).toContain(
      'Device or resource busy',
    );
    expect((await sh('lsblk -nro MOUNTPOINT /dev/nvme0n1')).stdout).toBe('/mnt\n');
  });
});

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

  it('lets go of them when it is stopped', async () => {
    const { sh } = box(raid);
    expect((await sh('grep -c "^md0 : active" /proc/mdstat')).stdout).toBe('1\n');
    await sh('mdadm --stop /dev/md0; wipefs -a -q /dev/nvme0n1p1; wipefs -a -q /dev/nvme0n1');
    expect((await sh('lsblk -nro NAME')).stdout).toBe('nvme0n1\nnvme1n1\nnvme1n1p1\nnvme2n1\n');
  });

  it('is no LVM: a volume group holds its disk until it is switched off', async () => {
    const { sh } = box({ disks: { sda: { kind: 'lvm', group: 'vg0' } } });
    expect((await sh('pvs --noheadings -o pv_name,vg_name')).stdout.trim().split(/\s+/)).toEqual(['/dev/sda', 'vg0']);
    expect((await sh('wipefs -a -q /dev/sda')).status).toBe(1);
    expect((await sh('vgchange -an vg0 && wipefs -a -q /dev/sda && pvs --noheadings -o pv_name')).stdout).toBe(
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
  const curl = 'curl --fail --silent --show-error --location';

  it('does not fit into RAM that is full', async () => {
    const { sh } = box({ ramDiskMiB: 1 });
    const url = await serve((_request, response) => response.end(Buffer.alloc(3 * 2 ** 20)));
    const outcome = await sh(`${curl} --url ${url} | tee /tmp/image | wc -c; head -c 3000000 /dev/zero >/tmp/image`);
    expect(outcome.stderr.match(/No space left on device/g)).toHaveLength(2);
  });

  it('comes from this machine only', async () => {
    const { sh } = box();
    expect((await sh(`${curl} --url http://factory.example/image`)).stderr).toBe(
      'curl: (6) Could not resolve host: factory.example\n',
    );
    expect(await sh(`${curl} --proto =https --url http://127.0.0.1:1/`)).toMatchObject({
      status: 1,
      stderr: 'curl: (1) Protocol "http" not supported or disabled in libcurl\n',
    });
    expect((await sh(`${curl} --url http://203.0.113.9/image`)).status).toBe(7);
    expect((await sh(`${curl} --url http://127.0.0.1:1/`)).status).toBe(7);
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
          'head -c 9 /dev/sda | tr -d "\\0"; dd if=/dev/sda bs=1M skip=1024 count=1 status=none | tr -d "\\0" | wc -c; wipefs --noheadings /dev/sda',
        )
      ).stdout,
    ).toBe('0\n');
  });

  it('by TRIM is advice: a drive may keep what it has, and zeros reach it', async () => {
    const { sh } = box({ disks: { nvme0n1: { kind: 'ext4' } }, diskBytes: 64 * 2 ** 20, keepsTrimmed: () => true });
    expect((await sh('blkdiscard /dev/nvme0n1; blkid -p /dev/nvme0n1')).stdout).toBe('/dev/nvme0n1: TYPE="ext4"\n');
    expect((await sh('blkdiscard --zeroout /dev/nvme0n1; blkid -p /dev/nvme0n1')).status).toBe(2);
  });

  it('by TRIM clears a drive that takes the advice, and rotating ones know none', async () => {
    const { sh } = box({ disks: { nvme0n1: { kind: 'linux', hostname: 'old' }, sda: { kind: 'ext4' } } });
    expect((await sh('blkdiscard /dev/nvme0n1; wipefs --noheadings /dev/nvme0n1')).stdout).toBe('');
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
    await sh('mount -o remount,rw /sys/firmware/efi/efivars');
    expect((await sh('efibootmgr -o 0003,0002,')).status).toBe(8);
    expect((await sh('efibootmgr -o 0009')).status).toBe(8);
  });

  it('is not there without UEFI', async () => {
    const { sh } = box({ firmware: 'bios' });
    expect(await sh('efibootmgr -v')).toMatchObject({
      status: 2,
      stderr: 'EFI variables are not supported on this system.\n',
    });
    expect((await sh('test -d /sys/firmware/efi')).status).toBe(1);
  });
});

describe('proofs', () => {
  it('that this is a rescue system: its root is in RAM, its name, its greeting', async () => {
    const { stdout } = await box().sh(
      'findmnt -no FSTYPE /; cat /proc/sys/kernel/hostname; grep -c "Hetzner Rescue System" /etc/motd',
    );
    expect(stdout).toBe('tmpfs\nrescue\n1\n');
  });

  it('that this is the machine: MAC, gateway and address', async () => {
    const { sh } = box();
    expect((await sh('ip -4 route show default; ip -6 route show default')).stdout).toBe(
      'default via 203.0.113.1 dev eth0 \n',
    );
    expect((await sh('cat /sys/class/net/eth0/address')).stdout).toBe('02:00:5e:00:00:01\n');
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
    ['printf abc | tee /tmp/a >/dev/null; wc -c </tmp/a; cat /tmp/a', '3\nabc'],
    ['seq 3; seq 1 2 5', '1\n2\n3\n1\n3\n5\n'],
  ])('%s', async (script, stdout) => {
    expect((await box({ disks: {} }).sh(script)).stdout).toBe(stdout);
  });
});
