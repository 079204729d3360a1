import { statSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { openTrueNas } from '../../testing/open-true-nas.ts';

const gibibyte = 1024 ** 3;
const seed = {
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

/** A machine, to which `add` attaches devices. */
async function open() {
  const nas = await openTrueNas({ seed });
  const vm = await nas.vm({});
  const toRequest = (attributes: object, order: number | null = null) => ({ vm, attributes, order });
  return {
    ...nas,
    id: vm,
    add: (attributes: object, order?: number) => nas.client.call('vm.device.create', toRequest(attributes, order)),
    refused: (attributes: object) => nas.refusals('vm.device.create', toRequest(attributes)),
    start: () => nas.client.call('vm.start', vm),
  };
}
const disk = { dtype: 'DISK', path: '/dev/zvol/tank/v' };
const disc = { dtype: 'CDROM', path: '/mnt/tank/iso/a.iso' };

describe('a new device', () => {
  test('has defaults: a disk is AHCI with a serial of the server, a NIC is E1000 without an address', async () => {
    const { add } = await open();
    const { serial, ...attributes } = (await add({ ...disk, serial: 'mine' })).attributes;
    expect(serial).toMatch(/^[0-9A-Za-z]{8}$/);
    expect(attributes).toEqual({
      ...{ ...disk, type: 'AHCI', iotype: 'THREADS', logical_sectorsize: null, physical_sectorsize: null },
    });
    expect((await add({ dtype: 'NIC' })).attributes).toEqual({
      ...{ dtype: 'NIC', type: 'E1000', mac: null, nic_attach: null, trust_guest_rx_filters: false },
    });
  });

  test('S1: boots by its order; the default puts the CD-ROM before the disk, and NICs take no part', async () => {
    const { add, client, id, start, nas } = await open();
    const orders = [await add(disk), await add(disc), await add({ dtype: 'NIC' })].map(({ order }) => order);
    expect(orders).toEqual([1001, 1000, 1002]);
    await start();
    const other = await client.call('vm.create', { name: 'b', memory: 512 });
    for (const [order, attributes] of [
      [1, { dtype: 'NIC' }],
      [1500, disc],
      [1000, { ...disk, path: '/dev/zvol/tank/my+disk' }],
    ])
      await client.call('vm.device.create', { vm: other.id, order, attributes });
    await client.call('vm.start', other.id);
    expect(nas.runner.started).toMatchObject([
      { name: `${id}_a`, cdroms: [{ order: 1 }], disks: [{ order: 2 }] },
      { name: `${other.id}_b`, cdroms: [{ order: 2 }], disks: [{ order: 1 }] },
    ]);
  });

  test('takes an order that another one has, which moves up', async () => {
    const { add, client } = await open();
    const first = await add(disk, 1000);
    expect((await add(disc, 1000)).order).toBe(1000);
    expect(await client.call('vm.device.query', [['id', '=', first.id]])).toMatchObject([{ order: 1001 }]);
  });

  test.each([
    [{ dtype: 'NIC', mtu: 9000 }, 'NIC.mtu', 'Extra inputs are not permitted'],
    [{ dtype: 'NIC', vlan: 5 }, 'NIC.vlan', 'Extra inputs are not permitted'],
    [{ dtype: 'NIC', type: 'RTL' }, 'NIC.type', "Input should be 'E1000' or 'VIRTIO'"],
    [{ dtype: 'NIC', mac: 'xx' }, 'NIC.mac', expect.stringContaining('String should match pattern')],
    [{ dtype: 'CDROM', path: '' }, 'CDROM.path', 'String should have at least 1 character'],
    [{ path: 'x' }, 'dtype', 'Field required'],
  ])('S7, S8: %j: the schema refuses with the whole path', async (attributes, path, message) => {
    expect(await (await open()).refused(attributes)).toEqual([[`vm_device_create.attributes.${path}`, message, 22]]);
  });

  test.each([
    [{ dtype: 'NIC', nic_attach: 'br9' }, 'nic_attach', 'Not a valid choice.', 22],
    [{ dtype: 'NIC', mac: 'ff:00:00:00:00:01' }, 'mac', 'MAC address must not start with `ff`', 22],
    [{ ...disk, path: '/dev/zvol/tank/none' }, 'path', 'Zvol referenced by path does not exist', 2],
    [{ ...disk, path: '/dev/zvol/tank/iso' }, 'path', 'Path specified does not reference to a VOLUME', 22],
    [{ ...disk, path: '/mnt/tank/v' }, 'path', 'Disk path must start with "/dev/zvol/"', 22],
    [{ ...disc, path: '/tmp/a.iso' }, 'path', 'The path must reside within a pool mount point', 22],
    [
      { ...disc, path: '/mnt/tank/root.iso' },
      'path',
      'The path must be a dataset or a directory within a dataset.',
      22,
    ],
    [
      { ...disc, path: '/mnt/tank/iso/secret.iso' },
      'path',
      "'libvirt-qemu' user cannot read from '/mnt/tank/iso/secret.iso' path. Please ensure correct permissions are specified.",
      22,
    ],
    [{ dtype: 'DISPLAY', password: ' ' }, 'password', 'Password is required for display devices', 22],
    [
      { dtype: 'DISPLAY', password: 'secret', type: 'VNC', web: true },
      'web',
      'Web access is not supported for VNC display devices, please use SPICE instead',
      22,
    ],
  ])('%j: a semantic error has a short path', async (attributes, path, message, errno) => {
    expect(await (await open()).refused(attributes)).toEqual([[`attributes.${path}`, message, errno]]);
  });

  test('with the path of another one is refused in the same machine only', async () => {
    const { add, refused, vm, refusals: rejections } = await open();
    await add(disc);
    expect(await refused(disc)).toEqual([['attributes.path', `a has "${disc.path}" already configured`, 22]]);
    await vm({ name: 'b' }, disc, disk);
    expect(await rejections('vm.device.create', { vm: 99, attributes: disk })).toEqual([
      [null, 'VM 99 does not exist', 2],
    ]);
  });

  test('a disc of root with mode 0600 can be read; every folder above it must be searchable', async () => {
    const { nas, add, refused } = await open();
    await add({ ...disc, path: '/mnt/tank/iso/own.iso' });
    nas.simulator.nas.fileMarks.set('/mnt/tank/iso/closed', { mode: 0o700, uid: 0, gid: 0 });
    expect(await refused({ ...disc, path: '/mnt/tank/iso/closed/b.iso' })).toMatchObject([
      [
        'attributes.path',
        expect.stringContaining('on path /mnt/tank/iso/closed prevent access for user "libvirt-qemu"'),
        22,
      ],
      ['attributes.path', expect.stringContaining('cannot read from'), 22],
    ]);
  });

  test('a display gets unused ports, and there is one of each type', async () => {
    const { add, refused, vm, refusals: rejections } = await open();
    const display = { dtype: 'DISPLAY', password: 'secret' };
    expect((await add({ ...display, web_port: 5901 })).attributes).toMatchObject({
      ...{ port: 5900, web_port: 5901, resolution: '1024x768', bind: '127.0.0.1' },
    });
    expect(await refused(display)).toMatchObject([
      ['attributes.type', 'Only one SPICE Display device is supported', 22],
    ]);
    const other = { vm: await vm({ name: 'b' }), attributes: { ...display, port: 5900 } };
    expect(await rejections('vm.device.create', other)).toMatchObject([
      ['attributes.port', 'Specified display port(5900) is already in use by another Display device', 22],
    ]);
  });
});

test('the runner gets real sparse files of the right size', async () => {
  const { nas, add, start } = await open();
  await add({ ...disk, type: 'VIRTIO' });
  await start();
  const [given] = nas.runner.started[0]?.disks ?? [];
  const { size, blocks } = statSync(given?.path ?? '');
  expect([size, given?.sizeBytes, given?.bus]).toEqual([gibibyte, gibibyte, 'virtio']);
  expect(blocks * 512).toBeLessThan(1024 * 1024);
});

describe('update', () => {
  test('attributes are merged, and the serial is read-only', async () => {
    const { add, client, refusals: rejections } = await open();
    const { id, attributes } = await add(disk);
    const change = { attributes: { dtype: 'DISK', type: 'VIRTIO' }, order: 7 };
    expect(await client.call('vm.device.update', id, change)).toMatchObject({
      order: 7,
      attributes: { type: 'VIRTIO', path: disk.path, serial: attributes.serial },
    });
    expect(await rejections('vm.device.update', id, { attributes: { serial: 'other' } })).toEqual([
      ['attributes.serial', 'This field is read-only.', 22],
    ]);
  });

  test('of a running machine applies from the next start; a NIC without an address gets another one then', async () => {
    const { nas, add, client, id, start } = await open();
    const nic = await add({ dtype: 'NIC', nic_attach: 'br0' });
    await start();
    await client.call('vm.device.update', nic.id, { attributes: { nic_attach: null } });
    await client.call('vm.poweroff', id);
    await start();
    const [before, after] = nas.runner.started.map(({ nics }) => nics[0]);
    // Without an interface it is the one of the default route.
    expect([before?.bridge, after?.bridge]).toEqual(['br0', 'eno1']);
    expect(before?.mac).toMatch(/^00:a0:98:/);
    expect(after?.mac).not.toBe(before?.mac);
  });
});

test('S2: delete is refused while the machine runs or is suspended', async () => {
  const { add, client, id, start, reason, refusals: rejections } = await open();
  const device = await add(disc);
  await start();
  const rejection = '[EFAULT] Please stop/resume associated VM before deleting VM device.';
  expect(await reason('vm.device.delete', device.id)).toBe(rejection);
  await client.call('vm.suspend', id);
  expect(await reason('vm.device.delete', device.id, { force: true })).toBe(rejection);
  await client.call('vm.poweroff', id);
  expect(await client.call('vm.device.delete', device.id)).toBe(true);
  expect(await rejections('vm.device.delete', device.id)).toEqual([[null, `VMDevice ${device.id} does not exist`, 2]]);
});

test('a machine does not start with a missing disc or interface', async () => {
  const { nas, add, client, id, reason } = await open();
  const card = await add({ dtype: 'NIC', nic_attach: 'br0' });
  nas.simulator.nas.links.delete('br0');
  expect(await reason('vm.start', id)).toContain('NIC Device: br0 device(s) are not available.');
  await client.call('vm.device.delete', card.id);
  await add(disc);
  await client.call('pool.dataset.delete', 'tank/iso');
  expect(await reason('vm.start', id)).toBe(
    `[EFAULT] VM will not start as CDROM Device: ${disc.path} device(s) are not available.`,
  );
});

test('the choices of interfaces are a flat map of names and descriptions', async () => {
  const { client } = await open();
  const choices = { br0: 'br0', eno1: 'eno1', vlan50: 'vlan50: DMZ' };
  expect(await client.call('vm.device.nic_attach_choices')).toEqual(choices);
  const query = ['interface.query', [['type', '=', 'BRIDGE']], { select: ['id', 'bridge_members'] }] as const;
  expect(await client.call(...query)).toEqual([{ id: 'br0', bridge_members: [] }]);
});
