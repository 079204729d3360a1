import { describe, expect, it } from 'vitest';
import { VmDevice } from '../../api/schema.ts';
import { differingSettings, firstBootPath, toDesiredDevices } from './desired-vm.ts';

const paths = {
  dataZvols: [],
  zvol: 'tank/talos/m/boot',
  images: '/mnt/tank/talos/images',
  image: '/mnt/tank/talos/images/v1/nocloud-amd64.iso',
  seeds: '/mnt/tank/talos/m',
  seed: '/mnt/tank/talos/m/seed-1.iso',
  mac: '02:aa:bb:cc:dd:ee',
  bridge: 'br0',
  cards: [],
};
const wanted = toDesiredDevices(paths);
const made = () =>
  wanted.map(({ order, attributes }, index) => VmDevice.parse({ id: index + 1, vm: 1, order, attributes }));
const find = (what: string) => wanted.find((one) => one.description === what)!;

describe('the devices of a machine', () => {
  it('T33, S1: boot from the disk before the image, which would halt an installed machine', () => {
    expect(firstBootPath(made())).toBe('/dev/zvol/tank/talos/m/boot');
    expect(wanted.map(({ order }) => order)).toEqual([1000, 1500, 1501, 2001]);
  });

  it('S50: additional disks come between the boot disk and the images, each at its own place', () => {
    const dataZvols = ['tank/talos/m/disk-a', 'fast/talos/m/disk-b'];
    const devices = toDesiredDevices({ ...paths, dataZvols });
    expect(devices.map(({ order }) => order)).toEqual([1000, 1001, 1002, 1500, 1501, 2001]);
    expect(devices.slice(1, 3).map(({ attributes }) => attributes)).toEqual(
      dataZvols.map((zvol) => ({ dtype: 'DISK', path: `/dev/zvol/${zvol}`, type: 'VIRTIO' })),
    );
  });

  it('T35, S7, S8, S45, S49: never have the defaults AHCI and E1000, nor a MAC that changes at each start', () => {
    expect(find('the boot disk').attributes).toEqual({
      dtype: 'DISK',
      path: '/dev/zvol/tank/talos/m/boot',
      type: 'VIRTIO',
    });
    expect(find('the network card').attributes).toEqual({
      dtype: 'NIC',
      type: 'VIRTIO',
      mac: '02:aa:bb:cc:dd:ee',
      nic_attach: 'br0',
    });
  });

  it('are each recognised as created, and never confused', () => {
    for (const device of made()) {
      expect(wanted.filter((one) => one.matches(device))).toHaveLength(1);
      expect(wanted.filter((one) => one.matches(device) && differingSettings(device, one).length === 0)).toHaveLength(
        1,
      );
    }
  });

  it('do not include devices that a person attached', () => {
    const other = VmDevice.parse({
      id: 9,
      vm: 1,
      order: 3000,
      attributes: { dtype: 'CDROM', path: '/mnt/tank/iso/tools.iso' },
    });
    const near = VmDevice.parse({
      id: 9,
      vm: 1,
      order: 3000,
      attributes: { dtype: 'CDROM', path: '/mnt/tank/talos/m2/x.iso' },
    });
    for (const one of wanted) expect([one.matches(other), one.matches(near)]).toEqual([false, false]);
  });

  it('are recognised with other settings, which are reported', () => {
    const [disk, , seed, card] = made();
    const moved = { ...disk!, order: 2000 };
    expect(differingSettings(moved, find('the boot disk'))).toEqual(['order']);
    const older = { ...seed!, attributes: { ...seed!.attributes, path: '/mnt/tank/talos/m/seed-0.iso' } };
    expect(find('the seed').matches(older)).toBe(true);
    expect(differingSettings(older, find('the seed'))).toEqual(['path']);
    const elsewhere = { ...card!, attributes: { ...card!.attributes, mac: '02:AA:BB:CC:DD:EE', nic_attach: 'br1' } };
    expect(differingSettings(elsewhere, find('the network card'))).toEqual(['nic_attach']);
  });

  it('at an earlier place in the boot order are reported, also by their id', () => {
    const early = VmDevice.parse({ id: 9, vm: 1, order: 1000, attributes: { dtype: 'CDROM', path: '/mnt/a/b.iso' } });
    expect(firstBootPath([...made(), early])).toBe('/dev/zvol/tank/talos/m/boot');
    expect(firstBootPath([...made(), { ...early, id: 0 }])).toBe('/mnt/a/b.iso');
    expect(firstBootPath([])).toBeUndefined();
  });
});
