import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type RawClient, startTrueNasFixture, type TrueNasFixture } from '../../testing/true-nas-fixture.ts';

const gibibyte = 1024 ** 3;
const seed = {
  pools: [{ name: 'tank' }],
  bridges: ['br0'],
  interfaces: [
    { name: 'eno1', type: 'PHYSICAL', address: '192.0.2.10/24' },
    { name: 'vlan50', type: 'VLAN', description: 'DMZ', members: ['eno1'] },
  ],
  datasets: [
    { name: 'tank/iso' },
    { name: 'tank/v', volumeBytes: gibibyte },
    { name: 'tank/my disk', volumeBytes: gibibyte },
  ],
  files: [
    { path: '/mnt/tank/iso/a.iso', content: 'a' },
    { path: '/mnt/tank/root.iso', content: 'b' },
    { path: '/mnt/tank/iso/closed/b.iso', content: 'c' },
    { path: '/mnt/tank/iso/secret.iso', content: 'd', mode: '0000' },
    { path: '/mnt/tank/iso/own.iso', content: 'd', mode: '0600' },
  ],
};
let nas: TrueNasFixture;
let client: RawClient;
let vm: number;

beforeEach(async () => {
  nas = await startTrueNasFixture({ seed });
  client = await nas.login();
  vm = (await client.call('vm.create', { name: 'a', memory: 512 })).id;
});
afterEach(() => nas.close());

const add = (attributes: object, order: number | null = null) =>
  client.call('vm.device.create', { vm, attributes, order });
const argumentErrorsOf = async (attributes: object, order: number | null = null) =>
  (await client.ask('vm.device.create', { vm, attributes, order })).error?.data?.extra;
const disk = { dtype: 'DISK', path: '/dev/zvol/tank/v' };
const disc = { dtype: 'CDROM', path: '/mnt/tank/iso/a.iso' };

describe('defaults', () => {
  test('DISK is AHCI, with a serial that the server generates', async () => {
    const { serial, ...attributes } = (await add({ ...disk, serial: 'mine' })).attributes;
    expect(serial).toMatch(/^[0-9A-Za-z]{8}$/);
    expect(attributes).toEqual({
      ...{ dtype: 'DISK', path: '/dev/zvol/tank/v', type: 'AHCI', iotype: 'THREADS', create_zvol: false },
      ...{ zvol_name: null, zvol_volsize: null, logical_sectorsize: null, physical_sectorsize: null },
    });
  });

  test('NIC is E1000 without an address', async () => {
    expect((await add({ dtype: 'NIC' })).attributes).toEqual({
      ...{ dtype: 'NIC', type: 'E1000', mac: null, nic_attach: null, trust_guest_rx_filters: false },
    });
  });

  test('default orders put the CD-ROM before the disk', async () => {
    await add(disk);
    await add(disc);
    await add({ dtype: 'NIC' });
    expect(await client.call('vm.device.query', [], { select: ['order'] })).toEqual([
      { order: 1001 },
      { order: 1000 },
      { order: 1002 },
    ]);
    await client.call('vm.start', vm);
    expect(nas.runner.started[0]).toMatchObject({ cdroms: [{ order: 1 }], disks: [{ order: 2 }] });
  });

  test('explicit orders decide; NICs never take part', async () => {
    await add({ dtype: 'NIC' }, 1);
    await add(disc, 1500);
    await add(disk, 1000);
    await client.call('vm.start', vm);
    expect(nas.runner.started[0]).toMatchObject({ disks: [{ order: 1 }], cdroms: [{ order: 2 }] });
  });

  test('a duplicate order moves the other devices up', async () => {
    const first = await add(disk, 1000);
    const second = await add(disc, 1000);
    expect(second.order).toBe(1000);
    expect((await client.call('vm.device.get_instance', first.id)).order).toBe(1001);
  });
});

describe('unknown keys and wrong values', () => {
  test.each([
    [{ dtype: 'NIC', mtu: 9000 }, 'vm_device_create.attributes.NIC.mtu', 'Extra inputs are not permitted'],
    [{ dtype: 'NIC', vlan: 5 }, 'vm_device_create.attributes.NIC.vlan', 'Extra inputs are not permitted'],
    [{ dtype: 'NIC', type: 'RTL' }, 'vm_device_create.attributes.NIC.type', "Input should be 'E1000' or 'VIRTIO'"],
    [
      { dtype: 'NIC', mac: 'xx' },
      'vm_device_create.attributes.NIC.mac',
      expect.stringContaining('String should match pattern'),
    ],
    [{ dtype: 'CDROM', path: '' }, 'vm_device_create.attributes.CDROM.path', 'String should have at least 1 character'],
    [
      { dtype: 'DISK' },
      'vm_device_create.attributes.DISK',
      'Value error, Path must be specified if create_zvol is not set',
    ],
    [{ path: 'x' }, 'vm_device_create.attributes.dtype', 'Field required'],
    [
      { dtype: 'FLOPPY' },
      'vm_device_create.attributes',
      expect.stringContaining("Input tag 'FLOPPY' found using 'dtype'"),
    ],
  ])('%j: the schema refuses with the whole path', async (attributes, path, message) => {
    expect(await argumentErrorsOf(attributes)).toEqual([[path, message, 22]]);
  });

  test.each([
    [{ dtype: 'NIC', nic_attach: 'br9' }, 'attributes.nic_attach', 'Not a valid choice.', 22],
    [{ dtype: 'NIC', mac: 'ff:00:00:00:00:01' }, 'attributes.mac', 'MAC address must not start with `ff`', 22],
    [{ dtype: 'DISK', path: '/dev/zvol/tank/none' }, 'attributes.path', 'Zvol referenced by path does not exist', 2],
    [
      { dtype: 'DISK', path: '/dev/zvol/tank/iso' },
      'attributes.path',
      'Path specified does not reference to a VOLUME',
      22,
    ],
    [{ dtype: 'DISK', path: '/mnt/tank/v' }, 'attributes.path', 'Disk path must start with "/dev/zvol/"', 22],
    [{ dtype: 'CDROM', path: '/tmp/a.iso' }, 'attributes.path', 'The path must reside within a pool mount point', 22],
    [
      { dtype: 'CDROM', path: '/mnt/tank/root.iso' },
      'attributes.path',
      'The path must be a dataset or a directory within a dataset.',
      22,
    ],
    [
      { dtype: 'RAW', path: '/mnt/tank/iso/none', exists: true },
      'attributes.path',
      'Path must exist when "exists" is set.',
      22,
    ],
    [
      { dtype: 'RAW', path: '/mnt/tank/iso/a.iso', size: 1 },
      'attributes.path',
      'Path must not exist when "exists" is unset.',
      22,
    ],
    [
      { dtype: 'RAW', path: '/mnt/tank/iso/none' },
      'attributes.size',
      'Please provide a valid size for the raw file.',
      22,
    ],
    [
      { ...disk, physical_sectorsize: 4096 },
      'attributes.logical_sectorsize',
      'This field must be provided when physical_sectorsize is specified.',
      22,
    ],
    [
      { ...disk, zvol_volsize: 5 },
      'attributes.zvol_volsize',
      'This field should not be specified when "create_zvol" is unset.',
      22,
    ],
    [
      { dtype: 'DISK', create_zvol: true, zvol_name: 'tank/v', zvol_volsize: gibibyte },
      'attributes.zvol_name',
      "'tank/v' already exists.",
      22,
    ],
    [
      { dtype: 'DISK', create_zvol: true, zvol_name: 'tank/none/v', zvol_volsize: gibibyte },
      'attributes.zvol_name',
      'Parent dataset tank/none does not exist.',
      2,
    ],
  ])('%j: a semantic error has a short path', async (attributes, path, message, errno) => {
    expect(await argumentErrorsOf(attributes)).toEqual([[path, message, errno]]);
  });

  test('the same path twice in one machine is refused, in two machines it is not', async () => {
    await add(disc);
    expect((await argumentErrorsOf(disc))[0]).toEqual([
      'attributes.path',
      'a has "/mnt/tank/iso/a.iso" already configured',
      22,
    ]);
    const other = (await client.call('vm.create', { name: 'b', memory: 512 })).id;
    await client.call('vm.device.create', { vm: other, attributes: disc });
    await client.call('vm.device.create', { vm: other, attributes: disk });
  });

  test('an unknown machine', async () => {
    expect((await client.ask('vm.device.create', { vm: 99, attributes: disk })).error?.data.extra).toEqual([
      [null, 'VM 99 does not exist', 2],
    ]);
  });
});

describe('read permission of a disc', () => {
  test('a file of root with mode 0600 can be read by a change of ownership, with mode 0000 it cannot', async () => {
    await add({ dtype: 'CDROM', path: '/mnt/tank/iso/own.iso' });
    expect(await argumentErrorsOf({ dtype: 'CDROM', path: '/mnt/tank/iso/secret.iso' })).toEqual([
      [
        'attributes.path',
        "'libvirt-qemu' user cannot read from '/mnt/tank/iso/secret.iso' path. Please ensure correct permissions are specified.",
        22,
      ],
    ]);
  });

  test('every parent folder must be searchable for the user', async () => {
    nas.room.nas.fileMarks.set('/mnt/tank/iso/closed', { mode: 0o700, uid: 0, gid: 0 });
    const messages = (await argumentErrorsOf({ dtype: 'CDROM', path: '/mnt/tank/iso/closed/b.iso' })).map(
      ([, message]: [string, string]) => message,
    );
    expect(messages[0]).toContain(
      'Filesystem permissions on path /mnt/tank/iso/closed prevent access for user "libvirt-qemu"',
    );
    expect(messages[1]).toContain('cannot read from');
  });
});

describe('disks', () => {
  test('create_zvol creates a thick one', async () => {
    const device = await add({ dtype: 'DISK', create_zvol: true, zvol_name: 'tank/new', zvol_volsize: gibibyte });
    expect(device.attributes).toMatchObject({ path: '/dev/zvol/tank/new', create_zvol: false, zvol_name: null });
    expect((await client.call('pool.dataset.get_instance', 'tank/new')).refreservation.parsed).toBeGreaterThan(
      gibibyte,
    );
  });

  test('spaces in a name are plus signs in the path', async () => {
    await add({ dtype: 'DISK', path: '/dev/zvol/tank/my+disk' });
    expect(await client.call('vm.device.disk_choices')).toHaveProperty('/dev/zvol/tank/my+disk', 'tank/my disk');
  });

  test('a raw file is created, and removed with its device on request: the only way to remove a file', async () => {
    const made = await add({ dtype: 'RAW', path: '/mnt/tank/iso/raw', size: 4096 });
    expect((await client.call('filesystem.stat', '/mnt/tank/iso/raw')).size).toBe(4096);
    expect(await client.call('vm.device.delete', made.id)).toBe(true);
    const again = await add({ dtype: 'RAW', path: '/mnt/tank/iso/raw', exists: true });
    expect(await client.call('vm.device.delete', again.id, { raw_file: true })).toBe(true);
    expect((await client.ask('filesystem.stat', '/mnt/tank/iso/raw')).error?.data.error).toBe(2);
  });

  test('delete with zvol destroys it', async () => {
    const device = await add(disk);
    await client.call('vm.device.delete', device.id, { zvol: true });
    expect(nas.room.nas.datasets.has('tank/v')).toBe(false);
    expect((await client.ask('vm.device.delete', (await add(disc)).id, { zvol: true })).error?.data.reason).toBe(
      '[EFAULT] The device is not a disk and has no zvol to destroy.',
    );
  });

  test('the runner gets real sparse files of the right size', async () => {
    await add({ ...disk, type: 'VIRTIO' });
    await client.call('vm.start', vm);
    const { statSync } = await import('node:fs');
    const [given] = nas.runner.started[0]?.disks ?? [];
    const { size, blocks } = statSync(given?.path ?? '');
    expect([size, given?.sizeBytes, given?.bus]).toEqual([gibibyte, gibibyte, 'virtio']);
    expect(blocks * 512).toBeLessThan(1024 * 1024);
  });
});

describe('update', () => {
  test('attributes are merged, and the serial is read-only', async () => {
    const { id, attributes } = await add(disk);
    const updated = await client.call('vm.device.update', id, {
      attributes: { dtype: 'DISK', type: 'VIRTIO' },
      order: 7,
    });
    expect(updated).toMatchObject({
      order: 7,
      attributes: { type: 'VIRTIO', path: disk.path, serial: attributes.serial },
    });
    expect((await client.ask('vm.device.update', id, { attributes: { serial: 'other' } })).error?.data.extra).toEqual([
      ['attributes.serial', 'This field is read-only.', 22],
    ]);
  });

  test('of a running machine is allowed and applies from the next start', async () => {
    const { id } = await add({ dtype: 'NIC', nic_attach: 'br0' });
    await client.call('vm.start', vm);
    await client.call('vm.device.update', id, { attributes: { nic_attach: 'eno1' } });
    expect(nas.runner.started[0]?.nics).toMatchObject([{ bridge: 'br0' }]);
    await client.call('vm.poweroff', vm);
    await client.call('vm.start', vm);
    expect(nas.runner.started[1]?.nics).toMatchObject([{ bridge: 'eno1' }]);
  });
});

describe('delete', () => {
  test('is refused while the machine runs or is suspended', async () => {
    const { id } = await add(disc);
    await client.call('vm.start', vm);
    const refusal = '[EFAULT] Please stop/resume associated VM before deleting VM device.';
    expect((await client.ask('vm.device.delete', id)).error?.data.reason).toBe(refusal);
    await client.call('vm.suspend', vm);
    expect((await client.ask('vm.device.delete', id, { force: true })).error?.data.reason).toBe(refusal);
    await client.call('vm.poweroff', vm);
    expect(await client.call('vm.device.delete', id)).toBe(true);
    expect((await client.ask('vm.device.delete', id)).error?.data.extra).toEqual([
      [null, `VMDevice ${id} does not exist`, 2],
    ]);
  });
});

describe('start with missing backends', () => {
  test('a disc whose file is missing keeps the machine from starting', async () => {
    await add(disc);
    await client.call('pool.dataset.delete', 'tank/iso');
    expect((await client.ask('vm.start', vm)).error?.data.reason).toBe(
      '[EFAULT] VM will not start as CDROM Device: /mnt/tank/iso/a.iso device(s) are not available.',
    );
  });

  test('so does a missing interface', async () => {
    await add({ dtype: 'NIC', nic_attach: 'br0' });
    nas.room.nas.links.delete('br0');
    expect((await client.ask('vm.start', vm)).error?.data.reason).toContain(
      'NIC Device: br0 device(s) are not available.',
    );
  });
});

describe('NICs', () => {
  test('without a MAC address a NIC gets another one at each start', async () => {
    await add({ dtype: 'NIC', nic_attach: 'br0' });
    await client.call('vm.start', vm);
    await client.call('vm.poweroff', vm);
    await client.call('vm.start', vm);
    const macs = nas.runner.started.map(({ nics }) => nics[0]?.mac);
    expect(macs[0]).toMatch(/^00:a0:98:/);
    expect(macs[0]).not.toBe(macs[1]);
  });

  test('without an interface it is attached to the one of the default route', async () => {
    await add({ dtype: 'NIC' });
    await client.call('vm.start', vm);
    expect(nas.runner.started[0]?.nics[0]?.bridge).toBe('eno1');
  });

  test('choices are a flat map of names and descriptions', async () => {
    expect(await client.call('vm.device.nic_attach_choices')).toEqual({
      br0: 'br0',
      eno1: 'eno1',
      vlan50: 'vlan50: DMZ',
    });
    expect(
      await client.call('interface.query', [['type', '=', 'BRIDGE']], { select: ['id', 'bridge_members'] }),
    ).toEqual([{ id: 'br0', bridge_members: [] }]);
  });
});
