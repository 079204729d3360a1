import { describe, expect, test } from 'vitest';
import { openTrueNas } from '../testing/open-true-nas.ts';

const gibibyte = 1024 ** 3;

async function open(seed: object = {}) {
  const nas = await openTrueNas({ seed: { pools: [{ name: 'tank', sizeBytes: 320 * gibibyte }], ...seed } });
  const { client } = nas;
  const create = (name: string, more: object = {}) => client.call('pool.dataset.create', { name, ...more });
  const get = (id: string) => client.call('pool.dataset.query', [['id', '=', id]], { get: true });
  return {
    ...nas,
    create,
    volume: (name: string, volsize = gibibyte, more: object = {}) => create(name, { type: 'VOLUME', volsize, ...more }),
    get,
    available: async (id = 'tank') => (await get(id)).available.parsed as number,
  };
}
const encrypted = (options: object) => ({ encryption: true, inherit_encryption: false, encryption_options: options });

describe('create', () => {
  test('an entry has the simulated properties with their sources', async () => {
    const { create, volume, client } = await open();
    expect(await create('tank/a', { comments: 'hello' })).toMatchObject({
      ...{ id: 'tank/a', type: 'FILESYSTEM', pool: 'tank', mountpoint: '/mnt/tank/a', locked: false, children: [] },
      ...{ encryption_root: null, comments: { rawvalue: 'hello', source: 'LOCAL' } },
    });
    const disk = await volume('tank/disk', 10 * gibibyte);
    expect(disk).toMatchObject({ type: 'VOLUME', mountpoint: null, volblocksize: { parsed: 16384, value: '16K' } });
    expect(disk.volsize).toEqual({
      ...{ parsed: 10 * gibibyte, rawvalue: String(10 * gibibyte), value: '10 GiB' },
      ...{ source: 'LOCAL', source_info: null },
    });
    const [pool] = await client.call('pool.query');
    expect(pool).toMatchObject({ name: 'tank', status: 'ONLINE', healthy: true, size: 320 * gibibyte });
    expect(pool.allocated + pool.free).toBe(pool.size);
  });

  test.each([
    [{ name: 'tank' }, 'name', 'You need a full name, e.g. pool/newdataset'],
    [{ name: 'tank/a ' }, 'name', 'Trailing spaces are not permitted in dataset names'],
    [{ name: 'lake/a' }, 'name', 'zpool (lake) does not exist.'],
    [{ name: 'tank/a/b' }, 'name', 'Parent dataset (tank/a) does not exist.'],
    [
      { name: 'lake/a/b', create_ancestors: true },
      'name',
      'Please specify a pool which exists for the dataset/volume to be created',
    ],
    [
      { name: 'tank/v', type: 'VOLUME', volsize: 300 * gibibyte },
      'volsize',
      'It is not recommended to use more than 80% of your available space for VOLUME',
    ],
    [
      { name: 'tank/v', type: 'VOLUME', volsize: gibibyte + 512, volblocksize: '4K' },
      'volsize',
      'Volume size should be a multiple of volume block size',
    ],
    [
      { name: 'tank/e', encryption: true, encryption_options: { passphrase: 'long enough' } },
      'inherit_encryption',
      'Must be disabled when encryption is enabled.',
    ],
  ])('%j is refused', async (data, field, message) => {
    const { refusals: rejections } = await open();
    expect(await rejections('pool.dataset.create', data)).toEqual([[`pool_dataset_create.${field}`, message, 22]]);
  });

  test('a value of the wrong type is refused by both kinds, each under its name', async () => {
    const { refusals: rejections } = await open();
    const data = { name: 'tank/a', type: 'VOLUME', volsize: '1G', ...encrypted({ algorithm: 'aes-256-gcm' }) };
    expect((await rejections('pool.dataset.create', data))?.map(([path]) => path)).toEqual(
      expect.arrayContaining([
        'data.PoolDatasetCreateVolume.volsize',
        'data.PoolDatasetCreateFilesystem.type',
        'data.PoolDatasetCreateFilesystem.encryption_options.algorithm',
      ]),
    );
  });

  test('S6: user properties need a colon; the input is a list, the output a map that children inherit', async () => {
    const { create, refusals: rejections } = await open();
    const wrong = { name: 'tank/a', user_properties: [{ key: 'nocolon', value: 'x' }] };
    expect((await rejections('pool.dataset.create', wrong))?.[0]).toEqual([
      'data.PoolDatasetCreateFilesystem.user_properties.0.key',
      "String should match pattern '.*:.*'",
      22,
    ]);
    const value = { parsed: 'me', rawvalue: 'me', value: 'me' };
    const parent = await create('tank/a', { user_properties: [{ key: 'org:who', value: 'me' }] });
    expect(parent.user_properties).toEqual({ 'org:who': { ...value, source: 'LOCAL', source_info: null } });
    const child = await create('tank/a/b');
    expect(child.user_properties['org:who']).toEqual({ ...value, source: 'INHERITED', source_info: 'tank/a' });
  });

  test('an existing filesystem is a validation error, an existing zvol an error of ZFS', async () => {
    const { create, volume, client, refusals: rejections } = await open();
    await create('tank/a/b/c', { create_ancestors: true });
    expect(await rejections('pool.dataset.create', { name: 'tank/a/b' })).toEqual([
      ['pool_dataset_create.name', 'Path /mnt/tank/a/b already exists', 22],
    ]);
    await volume('tank/v');
    const { error } = await client.ask('pool.dataset.create', { name: 'tank/v', type: 'VOLUME', volsize: gibibyte });
    expect(error).toMatchObject({ code: -32001, data: { error: 14, errname: 'EFAULT' } });
    expect(error?.data.reason).toContain('dataset already exists');
    expect((await rejections('pool.dataset.create', { name: 'tank/v/a' }))?.[0]?.[1]).toBe(
      'tank/v: parent may not be a ZFS volume',
    );
  });
});

describe('space', () => {
  test('S4: a thick zvol takes its size plus metadata at once, a sparse one nothing; files count', async () => {
    const { volume, available, put } = await open();
    const before = await available();
    const { refreservation } = await volume('tank/thick', 64 * gibibyte);
    expect(refreservation.parsed).toBeGreaterThan(64 * gibibyte);
    expect(before - (await available())).toBe(refreservation.parsed);
    const after = await available();
    await volume('tank/thin', 64 * gibibyte, { sparse: true });
    expect(after - (await available())).toBeLessThan(gibibyte);
    const left = await available();
    await put('/mnt/tank/file', Buffer.alloc(1_000_000));
    expect(left - (await available())).toBe(1_000_000);
  });

  test('the reservation of 256 GiB equals the one observed on a real system', async () => {
    const { volume } = await open({ pools: [{ name: 'tank' }] });
    const { refreservation } = await volume('tank/disk', 256 * gibibyte);
    expect(refreservation).toMatchObject({ parsed: 279179165696, value: '260.01 GiB' });
  });

  test('beyond the available space, force_size only moves the error to ZFS', async () => {
    const { nas, volume, reason } = await open();
    await nas.simulator.fillPool('tank', 10 * gibibyte);
    const data = { name: 'tank/v', type: 'VOLUME', volsize: 20 * gibibyte, force_size: true };
    expect(await reason('pool.dataset.create', data)).toContain('out of space');
    await volume('tank/v', 20 * gibibyte, { force_size: true, sparse: true });
  });

  test('a quota limits the available space below it', async () => {
    const { create, volume, available, reason } = await open();
    await create('tank/small', { quota: gibibyte });
    expect(await available('tank/small')).toBeLessThanOrEqual(gibibyte);
    const data = { name: 'tank/small/disk', type: 'VOLUME', volsize: 900 * 1024 ** 2 };
    expect(await reason('pool.dataset.create', data)).toMatch(/80% of your available space/);
    await volume('tank/small/disk', 700 * 1024 ** 2);
  });
});

describe('update', () => {
  test('user properties: some changed, one removed, or all replaced, but not both', async () => {
    const { create, client, refusals: rejections } = await open();
    const property = (key: string) => ({ key, value: '1' });
    await create('tank/a', { user_properties: [property('org:a'), property('org:b')] });
    const keysAfter = async (change: object) =>
      Object.keys((await client.call('pool.dataset.update', 'tank/a', change)).user_properties).sort();
    const change = { user_properties_update: [{ key: 'org:a', remove: true }, property('org:c')] };
    expect(await keysAfter(change)).toEqual(['org:b', 'org:c']);
    expect(await keysAfter({ user_properties: [property('org:d')] })).toEqual(['org:d']);
    const refusedField = async (data: object) => (await rejections('pool.dataset.update', 'tank/a', data))?.[0]?.[0];
    expect(await refusedField({ user_properties: [property('o:a')], ...change })).toBe(
      'pool_dataset_update.user_properties_update',
    );
    expect(await refusedField({ user_properties_update: [{ key: 'o:b' }] })).toBe(
      'pool_dataset_update.user_properties_update.0.value',
    );
    expect(await refusedField({ inherit_encryption: true })).toBe('data.inherit_encryption');
  });

  test('a zvol grows, with its reservation, and never shrinks', async () => {
    const { volume, client, refusals: rejections } = await open();
    await volume('tank/v');
    const grown = await client.call('pool.dataset.update', 'tank/v', { volsize: 2 * gibibyte });
    expect(grown.volsize.parsed).toBe(2 * gibibyte);
    expect(grown.refreservation.parsed).toBeGreaterThan(2 * gibibyte);
    expect(await rejections('pool.dataset.update', 'tank/v', { volsize: gibibyte })).toEqual([
      ['pool_dataset_update.volsize', 'You cannot shrink a zvol from GUI, this may lead to data loss.', 22],
    ]);
  });
});

describe('delete', () => {
  test('with children needs recursive, and removes the files', async () => {
    const { create, client, put, reason, refusals: rejections } = await open();
    await create('tank/a/b', { create_ancestors: true });
    await put('/mnt/tank/a/file', 'x');
    expect((await client.ask('pool.dataset.delete', 'tank/a')).error?.data).toMatchObject({
      ...{ error: 39, errname: 'ENOTEMPTY' },
      reason: "[ENOTEMPTY] Failed to delete dataset: cannot destroy 'tank/a': filesystem has children",
    });
    expect(await client.call('pool.dataset.delete', 'tank/a', { recursive: true })).toBe(true);
    expect(await reason('filesystem.stat', '/mnt/tank/a/file')).toBe('[ENOENT] Path /mnt/tank/a/file not found');
    expect(await rejections('pool.dataset.delete', 'tank/a')).toEqual([[null, 'PoolDataset tank/a does not exist', 2]]);
  });

  test('S38: a zvol that a running machine uses is busy', async () => {
    const { volume, client, vm } = await open();
    await volume('tank/v');
    const id = await vm({}, { dtype: 'DISK', path: '/dev/zvol/tank/v' });
    await client.call('vm.start', id);
    expect((await client.ask('pool.dataset.delete', 'tank/v')).error?.data).toMatchObject({ errname: 'EBUSY' });
    expect((await client.call('vm.status', id)).state).toBe('RUNNING');
    await client.call('vm.poweroff', id);
    expect(await client.call('pool.dataset.delete', 'tank/v')).toBe(true);
  });

  test.each([
    ['obeys', true, 'STOPPED'],
    ['ignores', false, 'RUNNING'],
  ])('S47: a filesystem: a running guest with a disc in it is shut down first, and %s', async (_, minding, state) => {
    const { nas, client, put, vm, create, reason } = await open();
    nas.runner.minding = minding;
    await create('tank/iso');
    await put('/mnt/tank/iso/a.iso', 'x');
    const disc = { dtype: 'CDROM', path: '/mnt/tank/iso/a.iso' };
    for (const id of [await vm({ name: 'user', shutdown_timeout: 5 }, disc), await vm({ name: 'other' })])
      await client.call('vm.start', id);
    const refused = await reason('pool.dataset.delete', 'tank/iso');
    if (!minding) expect(refused).toMatch(/^\[EBUSY\]/);
    const [stop] = await client.call('core.get_jobs', [['method', '=', 'vm.stop']]);
    await client.jobEnd(stop.id);
    expect(await client.call('vm.query', [], { select: ['name', 'status.state'] })).toEqual([
      { name: 'user', status: { state } },
      { name: 'other', status: { state: 'RUNNING' } },
    ]);
    if (!minding) expect((await client.call('filesystem.stat', '/mnt/tank/iso/a.iso')).type).toBe('FILE');
  });
});

describe('the state of a pool', () => {
  const seed = { pools: [{ name: 'tank' }, { name: 'other' }], datasets: [{ name: 'tank/files' }] };

  test.each(['FAULTED', 'UNAVAIL', 'SUSPENDED'] as const)(
    '%s: the content can be read, not written',
    async (status) => {
      const { nas, client, create, get, reason, put } = await open(seed);
      await nas.simulator.setPoolStatus('tank', 'DEGRADED');
      expect(await client.call('pool.query', [['status', '=', 'DEGRADED']])).toMatchObject([{ healthy: false }]);
      await create('tank/more');
      await nas.simulator.setPoolStatus('tank', status);
      await get('tank/files');
      const suspended = /pool I\/O is currently suspended/;
      expect(await reason('pool.dataset.create', { name: 'tank/again' })).toMatch(suspended);
      expect(await reason('pool.dataset.delete', 'tank/files')).toMatch(suspended);
      expect(await reason('pool.dataset.update', 'tank/files', { comments: 'x' })).toMatch(suspended);
      expect((await put('/mnt/tank/files/a', 'content')).error).toMatch(/Input\/output error/);
      await create('other/more');
    },
  );

  test('OFFLINE: the pool was not found, and machines with a disk in it do not start', async () => {
    const { nas, client, volume, vm, reason } = await open(seed);
    await volume('tank/disk');
    const id = await vm({}, { dtype: 'DISK', path: '/dev/zvol/tank/disk' });
    await client.call('vm.start', id);
    await nas.simulator.setPoolStatus('tank', 'OFFLINE');
    expect((await client.call('vm.status', id)).state).toBe('STOPPED');
    expect((await client.call('pool.query'))[0]).toMatchObject({ status: 'OFFLINE', size: null, topology: null });
    expect(await client.call('pool.dataset.query', [], { select: ['id'] })).toEqual([{ id: 'other' }]);
    expect(await reason('pool.dataset.create', { name: 'tank/a/b' })).toMatch(/zpool \(tank\/a\) does not exist/);
    expect(await reason('filesystem.stat', '/mnt/tank/files')).toMatch(/^\[ENOENT\]/);
    expect(await reason('vm.start', id)).toMatch(/VM will not start as DISK Device: \/dev\/zvol\/tank\/disk/);
    await nas.simulator.setPoolStatus('tank', 'ONLINE');
    await client.call('vm.start', id);
  });
});
