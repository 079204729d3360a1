import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type RawClient, startTrueNasFixture, type TrueNasFixture } from '../testing/true-nas-fixture.ts';

let nas: TrueNasFixture;
let client: RawClient;
const gibibyte = 1024 ** 3;

async function open(version = '25.10') {
  nas = await startTrueNasFixture({
    version,
    seed: { datasets: [{ name: 'tank/files' }, { name: 'tank/disk', volumeBytes: gibibyte }] },
  });
  client = await nas.login();
}
afterEach(() => nas.close());

const takeSnapshotOf = (dataset: string, name: string, more = {}) =>
  client.call('pool.snapshot.create', { dataset, name, ...more });
const reason = async (method: string, ...params: unknown[]) =>
  (await client.ask(method, ...params)).error?.data?.reason;
const put = async (path: string, content: string) =>
  client.jobEnd(JSON.parse((await nas.upload(path, content)).text).job_id);
const names = async () => (await client.call('pool.snapshot.query')).map(({ id }: { id: string }) => id).sort();

describe('snapshots', () => {
  test.each([
    ['25.04.2', 'zfs.snapshot', 'pool.snapshot'],
    ['25.10', 'pool.snapshot', 'zfs.snapshot'],
    ['26', 'pool.snapshot', 'zfs.snapshot'],
  ])('%s calls them %s', async (version, name, other) => {
    await open(version);
    const made = await client.call(`${name}.create`, { dataset: 'tank/files', name: 'one' });
    expect(made).toMatchObject({ id: 'tank/files@one', pool: 'tank', snapshot_name: 'one', type: 'SNAPSHOT' });
    expect(await client.call(`${name}.query`, [['dataset', '=', 'tank/files']])).toEqual([made]);
    expect((await client.ask(`${other}.query`)).error?.code).toBe(-32601);
  });

  describe('of 25.10', () => {
    beforeEach(() => open());

    test('are refused as a duplicate, and without a dataset or a name', async () => {
      await takeSnapshotOf('tank/files', 'one');
      expect(await reason('pool.snapshot.create', { dataset: 'tank/files', name: 'one' })).toMatch(
        /^\[EEXIST\] Failed to snapshot/,
      );
      expect(await reason('pool.snapshot.create', { dataset: 'tank/none', name: 'one' })).toMatch(
        /dataset does not exist/,
      );
      expect(await reason('pool.snapshot.create', { dataset: 'tank/files' })).toMatch(/You must specify either name/);
      expect(await reason('pool.snapshot.get_instance', 'tank/files@two')).toMatch(/^\[ENOENT\] None: PoolSnapshot/);
    });

    test('block the deletion of a dataset, unless it is recursive', async () => {
      await takeSnapshotOf('tank', 'all', { recursive: true });
      expect(await names()).toEqual(['tank/disk@all', 'tank/files@all', 'tank@all']);
      expect(await reason('pool.dataset.delete', 'tank/disk')).toMatch(/^\[ENOTEMPTY\] Failed to delete dataset/);
      await client.call('pool.dataset.delete', 'tank/disk', { recursive: true });
      expect(await names()).toEqual(['tank/files@all', 'tank@all']);
      await client.call('pool.snapshot.delete', 'tank@all', { recursive: true });
      expect(await names()).toEqual([]);
    });

    test('restore the content of a file, and can be cloned into a dataset', async () => {
      await put('/mnt/tank/files/a', 'first');
      await takeSnapshotOf('tank/files', 'one');
      await put('/mnt/tank/files/a', 'second, longer');
      await put('/mnt/tank/files/b', 'new');
      await client.call('pool.snapshot.clone', { snapshot: 'tank/files@one', dataset_dst: 'tank/copy' });
      const size = async (path: string) => (await client.call('filesystem.stat', path)).size;
      expect([await size('/mnt/tank/copy/a'), await size('/mnt/tank/files/a')]).toEqual([5, 14]);
      expect((await client.call('pool.dataset.get_instance', 'tank/copy')).origin.rawvalue).toBe('tank/files@one');
      expect(await reason('pool.snapshot.delete', 'tank/files@one')).toMatch(/snapshot has dependent clones/);
      expect(await reason('pool.dataset.delete', 'tank/files', { recursive: true })).toMatch(/dependent clones/);
      await takeSnapshotOf('tank/files', 'two');
      expect(await reason('pool.snapshot.rollback', 'tank/files@one')).toMatch(/more recent snapshots/);
      await client.call('pool.snapshot.rollback', 'tank/files@one', { recursive: true });
      expect(await size('/mnt/tank/files/a')).toBe(5);
      expect(await reason('filesystem.stat', '/mnt/tank/files/b')).toMatch(/not found/);
    });

    test('with a hold cannot be deleted', async () => {
      await takeSnapshotOf('tank/files', 'one');
      await client.call('pool.snapshot.hold', 'tank/files@one');
      expect(await reason('pool.snapshot.delete', 'tank/files@one')).toMatch(/dataset is busy/);
      await client.call('pool.snapshot.release', 'tank/files@one');
      await client.call('pool.snapshot.delete', 'tank/files@one');
      expect(await names()).toEqual([]);
    });
  });
});

describe('machines that are suspended for a snapshot', () => {
  const states: string[] = [];
  async function watch(version: string, row: object) {
    await open(version);
    states.length = 0;
    nas.room.nas.events.listen(({ collection, fields }) => {
      const status = fields?.['status'] as { state?: string } | undefined;
      if (collection === 'vm.query' && status?.state) states.push(status.state);
    });
    await client.call('vm.create', { name: 'one', memory: 1024, ...row });
    const attributes = { dtype: 'DISK', path: '/dev/zvol/tank/disk', type: 'VIRTIO' };
    await client.call('vm.device.create', { vm: 1, attributes });
    await client.call('vm.start', 1);
    states.length = 0;
  }

  test.each([
    ['25.10', {}, []],
    ['25.10', { suspend_on_snapshot: true }, ['PAUSED', 'RUNNING']],
    ['26', {}, ['SUSPENDED', 'RUNNING']],
    ['26', { suspend_on_snapshot: false }, []],
  ])('S53: %s, with %j, by a periodic task: %j', async (version, row, seen) => {
    await watch(version, row);
    await nas.room.snapshotTask('tank', 'auto', true);
    expect(states).toEqual(seen);
    expect(await names()).toContain('tank/disk@auto');
    expect((await client.call('vm.status', 1)).state).toBe('RUNNING');
  });

  test('only if one of their disks is in the dataset', async () => {
    await watch('26', {});
    await nas.room.snapshotTask('tank', 'auto');
    expect(states).toEqual([]);
  });

  test('26 does it on request, and refuses a duplicate name with its own error', async () => {
    await watch('26', {});
    await takeSnapshotOf('tank/disk', 'one');
    expect(states).toEqual([]);
    await takeSnapshotOf('tank/disk', 'two', { suspend_vms: true });
    expect(states).toEqual(['SUSPENDED', 'RUNNING']);
    const again = await client.ask('pool.snapshot.create', { dataset: 'tank/disk', name: 'two' });
    expect(again.error?.data.extra).toEqual([['pool.snapshot.create', 'two already exists.', 17]]);
  });
});

describe('vm.clone', () => {
  const password = 'secret';
  beforeEach(async () => {
    await open();
    await client.call('vm.create', { name: 'one', memory: 1024, description: 'ours' });
    const device = (attributes: object, order: number) => client.call('vm.device.create', { vm: 1, order, attributes });
    await device({ dtype: 'DISK', path: '/dev/zvol/tank/disk', type: 'VIRTIO' }, 1000);
    await device({ dtype: 'NIC', nic_attach: 'br0', mac: '02:00:00:00:00:01' }, 2001);
    await device({ dtype: 'DISPLAY', password }, 3000);
  });

  test("S3: has the source's description, and a UUID, disks and NICs of its own", async () => {
    expect(await client.call('vm.clone', 1)).toBe(true);
    const [one, clone] = await client.call('vm.query');
    expect(clone).toMatchObject({ name: 'one_clone0', description: 'ours', status: { state: 'STOPPED' } });
    expect(clone.uuid).not.toBe(one.uuid);
    const [disk, nic, display] = clone.devices.map(({ attributes }: { attributes: object }) => attributes);
    expect(disk).toMatchObject({ path: '/dev/zvol/tank/disk_one_clone0', type: 'VIRTIO' });
    expect(nic).toMatchObject({ nic_attach: 'br0', mac: null });
    expect([display.port, display.web_port]).toEqual([5902, 5903]);
    expect(await names()).toEqual(['tank/disk@one_clone0']);
    await client.call('vm.clone', 1, 'two');
    expect((await client.ask('vm.clone', 1, 'two')).error?.data.extra).toEqual([
      ['vm_create.name', 'This name already exists.', 17],
    ]);
  });
});

describe('displays', () => {
  beforeEach(async () => {
    await open();
    await client.call('vm.create', { name: 'one', memory: 1024 });
  });
  const display = (attributes: object) => ({
    vm: 1,
    attributes: { dtype: 'DISPLAY', password: 'secret', ...attributes },
  });

  test('get unused ports', async () => {
    expect(await client.call('vm.port_wizard')).toEqual({ port: 5900, web: 5901 });
    const made = await client.call('vm.device.create', display({ web_port: 5901 }));
    expect(made.attributes).toMatchObject({ port: 5900, web_port: 5901, resolution: '1024x768', bind: '127.0.0.1' });
    await client.call('vm.create', { name: 'two', memory: 1024 });
    const second = { ...display({ port: 5900 }), vm: 2 };
    expect(await reason('vm.device.create', second)).toMatch(/\(5900\) is already in use by another Display device/);
  });

  test('require a password, and there is one of each type', async () => {
    expect(await reason('vm.device.create', display({ password: ' ' }))).toMatch(/Password is required/);
    await client.call('vm.device.create', display({}));
    expect(await reason('vm.device.create', display({}))).toMatch(/Only one SPICE Display device/);
    expect(await reason('vm.device.create', display({ type: 'VNC', web: true }))).toMatch(/not supported for VNC/);
    expect((await client.call('vm.get_display_devices', 1))[0].attributes.password_configured).toBe(true);
  });

  test('are reachable by a browser at their configured address', async () => {
    const uri = () => client.call('vm.get_display_web_uri', 1, 'nas.example', { protocol: 'HTTPS' });
    expect(await uri()).toEqual({ uri: null, error: 'Display device is not configured for this VM' });
    const { id } = await client.call('vm.device.create', display({}));
    expect((await uri()).uri).toMatch(new RegExp(`^https://nas.example/vm/display/${id}/spice_auto.html`));
    await client.call('vm.device.update', id, { attributes: { web: false } });
    expect((await uri()).error).toBe('Web display is not configured');
  });
});
