import { describe, expect, it } from 'vitest';
import { decideBootOrder } from './boot-order.ts';
import { type EfiBootMenuEntry, isNetworkEntry, parseEfiBootMenu, partitionGuidOf } from './efi-boot-menu.ts';

const guid = (digit: string): string => `${digit.repeat(8)}-1111-2222-3333-444444444444`;
const disk = (digit: string): string => `HD(1,GPT,${guid(digit)},0x800,0x100000)/File(\\EFI\\debian\\shimx64.efi)`;
const pxe = 'PciRoot(0x0)/Pci(0x1,0x0)/MAC(0200005e0001,0)/IPv4(0.0.0.0,0,DHCP,0.0.0.0,0.0.0.0,0.0.0.0)..BO';
const nvme = 'PciRoot(0x0)/Pci(0x6,0x0)/NVMe(0x1,00-00-00-00-00-00-00-01)..BO';

describe('efibootmgr -v', () => {
  it('parses entries with and without a path, active or not', () => {
    const text = [
      'BootCurrent: 0002',
      'Timeout: 1 seconds',
      'BootOrder: 0003,0002,000A',
      `Boot0002* UEFI: PXE IPv4 Intel\t${pxe}`,
      `Boot0003* debian\t${disk('a')}`,
      'Boot000A  UEFI OS',
      'MirroredPercentageAbove4G: 0.00',
      '',
    ].join('\n');
    expect(parseEfiBootMenu(text)).toEqual({
      current: '0002',
      order: ['0003', '0002', '000A'],
      entries: [
        { id: '0002', active: true, label: 'UEFI: PXE IPv4 Intel', path: pxe },
        { id: '0003', active: true, label: 'debian', path: disk('a') },
        { id: '000A', active: false, label: 'UEFI OS', path: '' },
      ],
    });
  });

  it('may report that there is no order', () => {
    expect(parseEfiBootMenu('BootCurrent: 0000\nNo BootOrder is set; firmware will attempt recovery\n').order).toEqual(
      [],
    );
  });

  it('is not the output of a shell', () =>
    expect(() => parseEfiBootMenu('sh: efibootmgr: not found\n')).toThrow(/lists nothing/));
});

it.each([
  ['a path with a MAC', 'Intel I210', pxe, true],
  ['words alone', 'UEFI: PXE IP4 Realtek', '', true],
  ['an old BIOS entry', 'NIC', 'BBS(Network,,0x0)', true],
  ['a disk whose label lies', 'PXE network boot', disk('a'), false],
  ['a drive', 'UEFI: EXAMPLE NV960', nvme, false],
])('network or not: %s', (_what, label, path, expected) =>
  expect(isNetworkEntry({ id: '0000', active: true, label, path })).toBe(expected),
);

it('a partition is identified by its GUID, and one of an MBR is not', () => {
  const entry = { id: '0000', active: true, label: '' };
  expect(partitionGuidOf({ ...entry, path: disk('A') })).toBe(guid('a'));
  expect(partitionGuidOf({ ...entry, path: 'HD(1,MBR,0x12345678,0x800,0x100000)' })).toBeUndefined();
});

describe('the boot order', () => {
  const entry = (id: string, label: string, path: string): EfiBootMenuEntry => ({ id, label, path, active: true });
  const net = entry('0002', 'PXE', pxe);
  const other = entry('0004', 'UEFI: PXE IPv6 Intel', pxe.replace('IPv4', 'IPv6'));
  const linux = entry('0003', 'debian', disk('a'));
  const talos = entry('0007', 'Talos Linux UKI', disk('e'));
  const drive = entry('0000', 'UEFI: EXAMPLE NV960', nvme);
  const unreadable = entry('0005', 'Vendor tool', 'Fv(1b3a…)/FvFile(…)');
  const old = entry('0006', 'old', 'HD(1,MBR,0x12345678,0x800,0x100000)');
  const esp = [{ guid: guid('E'), label: 'EFI' }];

  it.each([
    ['H32: has the network first', [linux, net], ['0003', '0002'], [], ['0002'], ['0003']],
    [
      'has what this boot came from before other cards',
      [other, net, drive],
      ['0000', '0004', '0002'],
      [],
      ['0002', '0004', '0000'],
      [],
    ],
    [
      'has the new system before all other disks',
      [drive, talos, net],
      ['0000', '0002', '0007'],
      esp,
      ['0002', '0007', '0000'],
      [],
    ],
    [
      'P13: keeps what nobody understands, where it was',
      [unreadable, old, net, drive],
      ['0005', '0006', '0002', '0000'],
      [],
      ['0002', '0005', '0006', '0000'],
      [],
    ],
    ['takes in a network entry that was in no order', [net, drive], ['0000'], [], ['0002', '0000'], []],
    ['leaves others out that were in none', [net, drive], ['0002'], [], ['0002'], []],
    [
      'P11: loses what leads to a partition that is gone',
      [linux, talos, net],
      ['0003', '0007', '0002'],
      esp,
      ['0002', '0007'],
      ['0003'],
    ],
    [
      'keeps what leads to a partition of a disk that nobody touched',
      [linux, net],
      ['0003', '0002'],
      [{ guid: guid('a'), label: 'EFI System' }],
      ['0002', '0003'],
      [],
    ],
    [
      'keeps a network entry whatever its path says',
      [entry('0001', 'x', `${pxe}/${disk('a')}`)],
      ['0001'],
      [],
      ['0001'],
      [],
    ],
  ])('%s', (_what, entries, order, partitions, expected, removed) => {
    const plan = decideBootOrder({ current: '0002', order, entries }, partitions);
    expect(plan.order).toEqual(expected);
    expect(plan.remove.map(({ id }) => id)).toEqual(removed);
  });

  it('without a network entry is reported, and unchanged', () => {
    expect(decideBootOrder({ current: '', order: ['0000'], entries: [drive] }, [])).toEqual({
      ...{ order: ['0000'], remove: [], networkFirst: false },
    });
  });
});
