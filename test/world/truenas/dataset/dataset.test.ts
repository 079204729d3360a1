import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type RawClient, startTrueNasFixture, type TrueNasFixture } from '../testing/true-nas-fixture.ts';

const gibibyte = 1024 ** 3;
let nas: TrueNasFixture;
let client: RawClient;

beforeEach(async () => {
  nas = await startTrueNasFixture({ seed: { pools: [{ name: 'tank', sizeBytes: 320 * gibibyte }] } });
  client = await nas.login();
});
afterEach(() => nas.close());

const create = (data: object) => client.call('pool.dataset.create', data);
const argumentErrorsOf = async (method: string, ...params: unknown[]) =>
  (await client.ask(method, ...params)).error?.data?.extra;
const available = async (id = 'tank') =>
  (await client.call('pool.dataset.get_instance', id)).available.parsed as number;
const volume = (name: string, size: number, more = {}) => create({ name, type: 'VOLUME', volsize: size, ...more });

describe('the fields of an entry', () => {
  const shared = [
    ...['id', 'type', 'name', 'pool', 'encrypted', 'encryption_root', 'key_loaded', 'children', 'user_properties'],
    ...['locked', 'deduplication', 'checksum', 'sync', 'compression', 'compressratio', 'origin', 'reservation'],
    ...['refreservation', 'copies', 'readonly', 'key_format', 'encryption_algorithm', 'used', 'usedbychildren'],
    ...[
      'usedbydataset',
      'usedbyrefreservation',
      'usedbysnapshots',
      'available',
      'pbkdf2iters',
      'creation',
      'snapdev',
      'mountpoint',
    ],
  ];

  test('a filesystem has all fields of 25.10', async () => {
    const entry = await create({ name: 'tank/a' });
    const own = [
      'aclmode',
      'acltype',
      'xattr',
      'atime',
      'casesensitivity',
      'exec',
      'quota',
      'refquota',
      'snapdir',
      'recordsize',
      'special_small_block_size',
    ];
    expect(Object.keys(entry).sort()).toEqual([...shared, ...own].sort());
    expect(entry).toMatchObject({ id: 'tank/a', pool: 'tank', mountpoint: '/mnt/tank/a', locked: false, children: [] });
    expect(entry.compression).toEqual({
      parsed: 'lz4',
      rawvalue: 'lz4',
      value: 'LZ4',
      source: 'INHERITED',
      source_info: 'tank',
    });
    expect(entry.recordsize).toEqual({
      parsed: 131072,
      rawvalue: '131072',
      value: '128K',
      source: 'DEFAULT',
      source_info: null,
    });
  });

  test('a zvol has its own fields', async () => {
    const entry = await volume('tank/disk', 10 * gibibyte);
    expect(Object.keys(entry).sort()).toEqual([...shared, 'volsize', 'volblocksize'].sort());
    expect(entry).toMatchObject({ type: 'VOLUME', mountpoint: null });
    expect(entry.volsize).toEqual({
      parsed: 10 * gibibyte,
      rawvalue: String(10 * gibibyte),
      value: '10 GiB',
      source: 'LOCAL',
      source_info: null,
    });
    expect(entry.volblocksize).toMatchObject({ parsed: 16384, value: '16K' });
  });

  test('query can omit children, properties and user properties, and nest instead of flatten', async () => {
    await create({ name: 'tank/a', user_properties: [{ key: 'org:who', value: 'me' }] });
    await create({ name: 'tank/a/b' });
    const query = async (extra: object) =>
      client.call('pool.dataset.query', [['id', '=', 'tank/a']], { extra, get: true });
    expect((await query({})).children).toHaveLength(1);
    expect(await query({ retrieve_children: false, properties: [] })).toEqual({
      ...{ id: 'tank/a', type: 'FILESYSTEM', name: 'tank/a', pool: 'tank', encrypted: false, encryption_root: null },
      ...{ key_loaded: false, locked: false, user_properties: expect.anything() },
    });
    expect(await query({ retrieve_user_props: false })).not.toHaveProperty('user_properties');
    expect(await client.call('pool.dataset.query', [], { extra: { flat: false }, select: ['id'] })).toEqual([
      { id: 'tank' },
    ]);
  });

  test('pool.query: raw numbers, and all fields', async () => {
    const [pool] = await client.call('pool.query');
    expect(pool).toMatchObject({
      id: 1,
      name: 'tank',
      path: '/mnt/tank',
      status: 'ONLINE',
      healthy: true,
      size: 320 * gibibyte,
      fragmentation: '1',
    });
    expect(pool.allocated + pool.free).toBe(pool.size);
    expect(Object.keys(pool.topology)).toEqual(['data', 'log', 'cache', 'spare', 'special', 'dedup']);
    expect(pool).toHaveProperty('is_upgraded', false);
  });
});

describe('create', () => {
  test.each([
    [{ name: 'tank' }, 'pool_dataset_create.name', 'You need a full name, e.g. pool/newdataset'],
    [{ name: 'tank/a ' }, 'pool_dataset_create.name', 'Trailing spaces are not permitted in dataset names'],
    [{ name: 'lake/a' }, 'pool_dataset_create.name', 'zpool (lake) does not exist.'],
    [{ name: 'tank/a/b' }, 'pool_dataset_create.name', 'Parent dataset (tank/a) does not exist.'],
    [
      { name: 'lake/a/b', create_ancestors: true },
      'pool_dataset_create.name',
      'Please specify a pool which exists for the dataset/volume to be created',
    ],
    [
      { name: 'tank/v', type: 'VOLUME', volsize: 300 * gibibyte },
      'pool_dataset_create.volsize',
      'It is not recommended to use more than 80% of your available space for VOLUME',
    ],
    [
      { name: 'tank/v', type: 'VOLUME', volsize: gibibyte + 512, volblocksize: '4K' },
      'pool_dataset_create.volsize',
      'Volume size should be a multiple of volume block size',
    ],
    [
      { name: 'tank/e', encryption: true, encryption_options: { passphrase: 'long enough' } },
      'pool_dataset_create.inherit_encryption',
      'Must be disabled when encryption is enabled.',
    ],
  ])('%j is refused', async (data, path, message) => {
    expect(await argumentErrorsOf('pool.dataset.create', data)).toEqual([[path, message, 22]]);
  });

  test('a field of the wrong type is refused by both kinds, each under its name', async () => {
    const paths = (
      await argumentErrorsOf('pool.dataset.create', { name: 'tank/a', type: 'VOLUME', volsize: '1G' })
    ).map(([path]: [string]) => path);
    expect(paths).toContain('data.PoolDatasetCreateVolume.volsize');
    expect(paths).toContain('data.PoolDatasetCreateFilesystem.type');
  });

  test('user properties need a colon; the input is a list and the output a map', async () => {
    const wrong = await argumentErrorsOf('pool.dataset.create', {
      name: 'tank/a',
      user_properties: [{ key: 'nocolon', value: 'x' }],
    });
    expect(wrong[0]).toEqual([
      'data.PoolDatasetCreateFilesystem.user_properties.0.key',
      "String should match pattern '.*:.*'",
      22,
    ]);
    const entry = await create({ name: 'tank/a', user_properties: [{ key: 'org:who', value: 'me' }] });
    expect(entry.user_properties).toEqual({
      'org:who': { parsed: 'me', rawvalue: 'me', value: 'me', source: 'LOCAL', source_info: null },
    });
  });

  test('children inherit user properties, and the entry shows the source', async () => {
    await create({ name: 'tank/a', user_properties: [{ key: 'org:who', value: 'me' }] });
    const child = await create({ name: 'tank/a/b' });
    expect(child.user_properties['org:who']).toMatchObject({ value: 'me', source: 'INHERITED', source_info: 'tank/a' });
  });

  test('an existing filesystem is a validation error, an existing zvol an error of ZFS', async () => {
    await create({ name: 'tank/a' });
    expect(await argumentErrorsOf('pool.dataset.create', { name: 'tank/a' })).toEqual([
      ['pool_dataset_create.name', 'Path /mnt/tank/a already exists', 22],
    ]);
    await volume('tank/v', gibibyte);
    const { error } = await client.ask('pool.dataset.create', { name: 'tank/v', type: 'VOLUME', volsize: gibibyte });
    expect(error?.code).toBe(-32001);
    expect(error?.data).toMatchObject({ error: 14, errname: 'EFAULT' });
    expect(error?.data.reason).toContain('dataset already exists');
  });

  test('a zvol cannot have children', async () => {
    await volume('tank/v', gibibyte);
    expect((await argumentErrorsOf('pool.dataset.create', { name: 'tank/v/a' }))[0][1]).toBe(
      'tank/v: parent may not be a ZFS volume',
    );
  });

  test('ancestors are created on request', async () => {
    await create({ name: 'tank/a/b/c', create_ancestors: true });
    expect(await client.call('pool.dataset.query', [['id', '^', 'tank/']], { count: true })).toBe(3);
  });
});

describe('space', () => {
  test('a thick zvol takes its size plus metadata at once, a sparse one nothing', async () => {
    const before = await available();
    const entry = await volume('tank/thick', 256 * 1024 * 1024 * 1024 * 0.25);
    expect(entry.refreservation.parsed).toBeGreaterThan(64 * gibibyte);
    expect(before - (await available())).toBe(entry.refreservation.parsed);
    const after = await available();
    await volume('tank/thin', 64 * gibibyte, { sparse: true });
    expect(after - (await available())).toBeLessThan(gibibyte);
  });

  test('the reservation of 256 GiB equals the one observed on a real system', async () => {
    await nas.close();
    nas = await startTrueNasFixture();
    client = await nas.login();
    const entry = await volume('tank/disk', 256 * gibibyte);
    expect(entry.refreservation.parsed).toBe(279179165696);
    expect(entry.refreservation.value).toBe('260.01 GiB');
  });

  test('beyond the available space, force_size only moves the error to ZFS', async () => {
    await nas.room.fillPool('tank', 10 * gibibyte);
    const { error } = await client.ask('pool.dataset.create', {
      name: 'tank/v',
      type: 'VOLUME',
      volsize: 20 * gibibyte,
      force_size: true,
    });
    expect(error?.data.reason).toContain('out of space');
    await volume('tank/v', 20 * gibibyte, { force_size: true, sparse: true });
  });

  test('files count, and a quota limits the available space below it', async () => {
    await create({ name: 'tank/q', quota: 2 * gibibyte });
    expect(await available('tank/q')).toBeLessThanOrEqual(2 * gibibyte);
    const before = await available();
    const { text } = await nas.upload('/mnt/tank/q/file', Buffer.alloc(1_000_000));
    await client.jobEnd(JSON.parse(text).job_id);
    expect(before - (await available())).toBe(1_000_000);
  });
});

describe('update', () => {
  test('user properties: some changed, one removed, or all replaced, but not both', async () => {
    await create({
      name: 'tank/a',
      user_properties: [
        { key: 'org:a', value: '1' },
        { key: 'org:b', value: '2' },
      ],
    });
    const keys = (entry: { user_properties: object }) => Object.keys(entry.user_properties).sort();
    const changed = await client.call('pool.dataset.update', 'tank/a', {
      user_properties_update: [
        { key: 'org:a', remove: true },
        { key: 'org:c', value: '3' },
      ],
    });
    expect(keys(changed)).toEqual(['org:b', 'org:c']);
    expect(
      keys(await client.call('pool.dataset.update', 'tank/a', { user_properties: [{ key: 'org:d', value: '4' }] })),
    ).toEqual(['org:d']);
    const both = {
      user_properties: [{ key: 'o:a', value: '1' }],
      user_properties_update: [{ key: 'o:b', value: '1' }],
    };
    expect((await argumentErrorsOf('pool.dataset.update', 'tank/a', both))[0][0]).toBe(
      'pool_dataset_update.user_properties_update',
    );
    expect(
      (await argumentErrorsOf('pool.dataset.update', 'tank/a', { user_properties_update: [{ key: 'o:b' }] }))[0][0],
    ).toBe('pool_dataset_update.user_properties_update.0.value');
  });

  test('a zvol grows, with its reservation, and never shrinks', async () => {
    await volume('tank/v', gibibyte);
    const grown = await client.call('pool.dataset.update', 'tank/v', { volsize: 2 * gibibyte });
    expect(grown.volsize.parsed).toBe(2 * gibibyte);
    expect(grown.refreservation.parsed).toBeGreaterThan(2 * gibibyte);
    expect(await argumentErrorsOf('pool.dataset.update', 'tank/v', { volsize: gibibyte })).toEqual([
      ['pool_dataset_update.volsize', 'You cannot shrink a zvol from GUI, this may lead to data loss.', 22],
    ]);
  });

  test('properties that are fixed at creation are extra keys here', async () => {
    await create({ name: 'tank/a' });
    expect(await argumentErrorsOf('pool.dataset.update', 'tank/a', { casesensitivity: 'SENSITIVE' })).toEqual([
      ['data.casesensitivity', 'Extra inputs are not permitted', 22],
    ]);
  });
});

describe('delete', () => {
  test('with children needs recursive', async () => {
    await create({ name: 'tank/a' });
    await create({ name: 'tank/a/b' });
    const { error } = await client.ask('pool.dataset.delete', 'tank/a');
    expect(error?.data).toMatchObject({
      error: 39,
      errname: 'ENOTEMPTY',
      reason: "[ENOTEMPTY] Failed to delete dataset: cannot destroy 'tank/a': filesystem has children",
    });
    expect(await client.call('pool.dataset.delete', 'tank/a', { recursive: true })).toBe(true);
  });

  test('of an unknown dataset', async () => {
    expect(await argumentErrorsOf('pool.dataset.delete', 'tank/none')).toEqual([
      [null, 'PoolDataset tank/none does not exist', 2],
    ]);
  });

  test('removes its files', async () => {
    await create({ name: 'tank/a' });
    await client.jobEnd(JSON.parse((await nas.upload('/mnt/tank/a/file', 'x')).text).job_id);
    await client.call('pool.dataset.delete', 'tank/a');
    expect((await client.ask('filesystem.stat', '/mnt/tank/a/file')).error?.data).toMatchObject({
      error: 2,
      reason: '[ENOENT] Path /mnt/tank/a/file not found',
    });
  });

  test('a zvol that a running machine uses is busy', async () => {
    await volume('tank/v', gibibyte);
    const vm = await client.call('vm.create', { name: 'a', memory: 512 });
    await client.call('vm.device.create', { vm: vm.id, attributes: { dtype: 'DISK', path: '/dev/zvol/tank/v' } });
    await client.call('vm.start', vm.id);
    const { error } = await client.ask('pool.dataset.delete', 'tank/v');
    expect(error?.data).toMatchObject({ error: 16, errname: 'EBUSY' });
    expect((await client.call('vm.status', vm.id)).state).toBe('RUNNING');
    await client.call('vm.poweroff', vm.id);
    expect(await client.call('pool.dataset.delete', 'tank/v')).toBe(true);
  });

  test('a filesystem: machines with a disc in it are shut down first, whoever their owner is', async () => {
    await create({ name: 'tank/iso' });
    await client.jobEnd(JSON.parse((await nas.upload('/mnt/tank/iso/a.iso', 'x')).text).job_id);
    for (const name of ['minds', 'other']) {
      const vm = await client.call('vm.create', { name, memory: 512 });
      if (name === 'minds')
        await client.call('vm.device.create', {
          vm: vm.id,
          attributes: { dtype: 'CDROM', path: '/mnt/tank/iso/a.iso' },
        });
      await client.call('vm.start', vm.id);
    }
    await client.ask('pool.dataset.delete', 'tank/iso');
    const [stop] = await client.call('core.get_jobs', [['method', '=', 'vm.stop']]);
    await client.jobEnd(stop.id);
    const states = await client.call('vm.query', [], { select: ['name', 'status.state'] });
    expect(states).toEqual([
      { name: 'minds', status: { state: 'STOPPED' } },
      { name: 'other', status: { state: 'RUNNING' } },
    ]);
  });

  test('a filesystem stays while a guest that ignores the button still uses its disc', async () => {
    nas.runner.minding = false;
    await create({ name: 'tank/iso' });
    await client.jobEnd(JSON.parse((await nas.upload('/mnt/tank/iso/a.iso', 'x')).text).job_id);
    const vm = await client.call('vm.create', { name: 'deaf', memory: 512 });
    await client.call('vm.device.create', { vm: vm.id, attributes: { dtype: 'CDROM', path: '/mnt/tank/iso/a.iso' } });
    await client.call('vm.start', vm.id);
    expect((await client.ask('pool.dataset.delete', 'tank/iso')).error?.data.error).toBe(16);
    expect((await client.call('filesystem.stat', '/mnt/tank/iso/a.iso')).type).toBe('FILE');
  });
});
