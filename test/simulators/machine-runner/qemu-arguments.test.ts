import { expect, test } from 'vitest';
import type { MachineDocument } from '../../world/machine-runner/machine-document.ts';
import { tapName, toQemuArguments } from '../../world/machine-runner/qemu-arguments.ts';

const machine: MachineDocument = {
  name: '1_one,two',
  uuid: '6d1b1a4e-0c9e-4a3e-9d5d-0d5d6b1a2c3d',
  vcpus: 2,
  memoryMiB: 2048,
  firmware: 'uefi',
  cpuModel: 'host',
  disks: [
    { path: '/a/b,c.img', sizeBytes: 1024, serial: 'x,1', order: 1 },
    { path: '/a/d.img', sizeBytes: 1024, serial: 'y2', order: 3 },
  ],
  cdroms: [{ path: '/a/e.iso', order: 2 }],
  nics: [{ mac: '02:CA:fe:00:00:01', bridge: 'br0' }],
  serialLog: '/log/1,one.log',
};
const host = { accelerator: 'tcg', ovmfCode: '/OVMF_CODE.fd', plugged: true } as const;
const after = (args: readonly string[], flag: string): string[] => args.filter((_, index) => args[index - 1] === flag);
const devices = (args: readonly string[]): Record<string, unknown>[] =>
  after(args, '-device').map((text) => JSON.parse(text));

test('QEMU gets the devices of the document in their boot order, and no others', () => {
  const args = toQemuArguments(machine, host);
  expect(devices(args)).toEqual([
    { driver: 'virtio-blk-pci', drive: 'disk0', serial: 'x,1', bootindex: 1 },
    { driver: 'virtio-blk-pci', drive: 'disk1', serial: 'y2', bootindex: 3 },
    { driver: 'ide-cd', bus: 'ide.0', drive: 'cdrom0', bootindex: 2 },
    { driver: 'virtio-net-pci', mac: '02:CA:fe:00:00:01', romfile: '', netdev: 'nic0' },
  ]);
  expect(args).toContain('-nodefaults');
  // Other bootable devices are not booted.
  expect(after(args, '-boot')).toEqual(['strict=on']);
});

test('commas in names and paths are escaped', () => {
  const args = toQemuArguments(machine, host);
  expect(after(args, '-name')).toEqual(['1_one,,two']);
  expect(after(args, '-chardev')).toEqual(['file,id=serial,append=on,path=/log/1,,one.log']);
  expect(after(args, '-blockdev').map((text) => JSON.parse(text).file.filename)).toContain('/a/b,c.img');
});

test.each([
  ['host', ['max']],
  ['EPYC', ['EPYC']],
  [null, []],
])(
  "the processor %s is requested from QEMU as %j; none is QEMU's default, which is too old for Talos",
  (cpuModel, wanted) => {
    expect(after(toQemuArguments({ ...machine, cpuModel }, host), '-cpu')).toEqual(wanted);
  },
);

test('the variables of the firmware are stored besides the serial log, one file for each machine', () => {
  const files = after(toQemuArguments(machine, host), '-blockdev').map((text) => JSON.parse(text).file.filename);
  expect(files.slice(0, 2)).toEqual(['/OVMF_CODE.fd', `/log/${machine.uuid}_VARS.fd`]);
  const bios = toQemuArguments({ ...machine, firmware: 'bios' }, { ...host, ovmfCode: undefined });
  expect(after(bios, '-machine')).toEqual(['q35']);
});

test('a NIC is attached to a network device with a valid Linux name, or to none', () => {
  const name = tapName('02:CA:fe:00:00:01');
  expect(name).toBe('vm02cafe000001');
  expect(name.length).toBeLessThan(16);
  expect(after(toQemuArguments(machine, host), '-netdev')).toEqual([
    `tap,id=nic0,ifname=${name},script=no,downscript=no`,
  ]);
  expect(after(toQemuArguments(machine, { ...host, plugged: false }), '-netdev')).toEqual([]);
});

test('more CD-ROMs than QEMU supports are refused with a sentence', () => {
  const cdroms = Array.from({ length: 7 }, (_, index) => ({ path: `/${index}.iso`, order: index + 1 }));
  expect(() => toQemuArguments({ ...machine, cdroms }, host)).toThrow(/at most 6 CD-ROMs, and 1_one,two has 7/);
});
