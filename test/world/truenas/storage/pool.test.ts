import { afterEach, describe, expect, test } from 'vitest';
import { type RawClient, startTrueNasFixture, type TrueNasFixture } from '../testing/true-nas-fixture.ts';

let nas: TrueNasFixture;
afterEach(() => nas.close());

const gibibyte = 1024 ** 3;
const datasets = [{ name: 'tank/files' }, { name: 'tank/disk', volumeBytes: gibibyte }];
const pools = [{ name: 'tank' }, { name: 'other' }];

async function open(seed: object = {}, version = '25.10'): Promise<RawClient> {
  nas = await startTrueNasFixture({ version, seed: { pools, datasets, ...seed } });
  return nas.login();
}
const reason = async (client: RawClient, method: string, ...params: unknown[]) =>
  (await client.ask(method, ...params)).error?.data?.reason;

async function running(client: RawClient): Promise<void> {
  await client.call('vm.create', { name: 'one', memory: 1024 });
  const attributes = { dtype: 'DISK', path: '/dev/zvol/tank/disk', type: 'VIRTIO' };
  await client.call('vm.device.create', { vm: 1, attributes });
  await client.call('vm.start', 1);
}
const stateOf = async (client: RawClient) => (await client.call('vm.status', 1)).state;

describe('the state of a pool', () => {
  test('DEGRADED is reported and has no other effect', async () => {
    const client = await open();
    await nas.room.setPoolStatus('tank', 'DEGRADED');
    expect((await client.call('pool.query', [['name', '=', 'tank']]))[0]).toMatchObject({
      status: 'DEGRADED',
      healthy: false,
      warning: true,
    });
    await running(client);
    await client.call('pool.dataset.create', { name: 'tank/more' });
  });

  test.each(['FAULTED', 'UNAVAIL', 'SUSPENDED'] as const)(
    '%s: the content can be read but not written',
    async (status) => {
      const client = await open();
      await nas.room.setPoolStatus('tank', status);
      expect((await client.call('pool.dataset.query', [['id', '=', 'tank/files']])).length).toBe(1);
      expect(await reason(client, 'pool.dataset.create', { name: 'tank/more' })).toMatch(
        /pool I\/O is currently suspended/,
      );
      expect(await reason(client, 'pool.dataset.delete', 'tank/files')).toMatch(/pool I\/O is currently suspended/);
      expect(await reason(client, 'pool.dataset.update', 'tank/files', { comments: 'x' })).toMatch(/suspended/);
      const { text } = await nas.upload('/mnt/tank/files/a', 'content');
      expect((await client.jobEnd(JSON.parse(text).job_id)).error).toMatch(/Input\/output error/);
      await client.call('pool.dataset.create', { name: 'other/more' });
    },
  );

  test('OFFLINE: the pool was not found, and machines with a disk in it do not start', async () => {
    const client = await open();
    await running(client);
    await nas.room.setPoolStatus('tank', 'OFFLINE');
    expect(await stateOf(client)).toBe('STOPPED');
    const [pool] = await client.call('pool.query', [['name', '=', 'tank']]);
    expect(pool).toMatchObject({ status: 'OFFLINE', healthy: false, size: null, topology: null });
    expect(await client.call('pool.dataset.query', [], { select: ['id'] })).toEqual([{ id: 'other' }]);
    expect(await reason(client, 'pool.dataset.get_instance', 'tank/files')).toMatch(/does not exist/);
    expect(await reason(client, 'pool.dataset.create', { name: 'tank/a/b' })).toMatch(
      /zpool \(tank\/a\) does not exist/,
    );
    expect(await reason(client, 'filesystem.stat', '/mnt/tank/files')).toMatch(/^\[ENOENT\]/);
    expect(await reason(client, 'vm.start', 1)).toMatch(/VM will not start as DISK Device: \/dev\/zvol\/tank\/disk/);
    await nas.room.setPoolStatus('tank', 'ONLINE');
    await client.call('vm.start', 1);
  });
});

describe('alerts', () => {
  const alerts = async (client: RawClient) =>
    (await client.call('alert.list')).map(
      ({ level, klass, text }: Record<string, string>) => `${level} ${klass}: ${text}`,
    );

  test('are empty on a healthy system', async () => {
    expect(await alerts(await open())).toEqual([]);
  });

  test('report pools that are unhealthy or fill up, the most severe first, and revoked keys', async () => {
    const client = await open({ users: [{ name: 'root' }, { name: 'gone', revoked: 'leaked' }] });
    const [{ size }] = await client.call('pool.query', [['name', '=', 'other']]);
    await nas.room.fillPool('other', Math.floor(size * 0.08));
    await nas.room.setPoolStatus('tank', 'FAULTED');
    expect(await alerts(client)).toEqual([
      'CRITICAL VolumeStatus: Pool tank state is FAULTED: One or more devices are not available.',
      expect.stringMatching(/^WARNING ZpoolCapacityWarning: Space usage for pool 'other' is 91%\.$/),
      expect.stringMatching(/^WARNING ApiKeyRevoked: key 2: API key has been revoked .* Revoke reason: leaked\./),
    ]);
  });
});

test('a dRAID pool requires wide blocks, and sizes that are multiples of them', async () => {
  const client = await open({ pools: [...pools, { name: 'wide', draid: true }] });
  const disk = { name: 'wide/disk', type: 'VOLUME', volsize: gibibyte };
  expect(await client.call('pool.dataset.recommended_zvol_blocksize', 'wide')).toBe('128K');
  expect(await reason(client, 'pool.dataset.create', { ...disk, volblocksize: '16K' })).toMatch(
    /equal to 32K for dRAID/,
  );
  expect(await reason(client, 'pool.dataset.create', { ...disk, volsize: gibibyte + 65536 })).toMatch(
    /should be a multiple/,
  );
  expect((await client.call('pool.dataset.create', disk)).volblocksize.value).toBe('128K');
});

describe('a quota', () => {
  test('limits the available space below it, for zvols and files alike', async () => {
    const client = await open();
    await client.call('pool.dataset.create', { name: 'tank/small', quota: gibibyte });
    const { available } = await client.call('pool.dataset.get_instance', 'tank/small');
    expect(available.parsed).toBeLessThanOrEqual(gibibyte);
    const disk = { name: 'tank/small/disk', type: 'VOLUME', volsize: 900 * 1024 ** 2 };
    expect(await reason(client, 'pool.dataset.create', disk)).toMatch(/80% of your available space/);
    await client.call('pool.dataset.create', { ...disk, volsize: 700 * 1024 ** 2 });
  });
});

describe('encryption', () => {
  const make = (client: RawClient, name: string, options: object) =>
    client.call('pool.dataset.create', {
      name,
      type: 'VOLUME',
      volsize: gibibyte,
      encryption: true,
      inherit_encryption: false,
      encryption_options: options,
    });

  test('a reboot locks datasets with a passphrase, and no machine starts on them until they are unlocked', async () => {
    let client = await open();
    await make(client, 'tank/secret', { passphrase: 'correct horse' });
    await make(client, 'tank/keyed', { generate_key: true });
    await client.call('vm.create', { name: 'one', memory: 1024 });
    const attributes = { dtype: 'DISK', path: '/dev/zvol/tank/secret', type: 'VIRTIO' };
    await client.call('vm.device.create', { vm: 1, attributes });
    await client.call('vm.start', 1);
    await nas.room.restart({ hostReboot: true });
    client = await nas.login();
    expect(await stateOf(client)).toBe('STOPPED');
    const locked = async () =>
      (await client.call('pool.dataset.query', [['locked', '=', true]])).map(({ id }: { id: string }) => id);
    expect(await locked()).toEqual(['tank/secret']);
    expect(await reason(client, 'vm.start', 1)).toMatch(/device\(s\) are not available/);
    const unlock = { datasets: [{ name: 'tank/secret', passphrase: 'correct horse' }] };
    await client.job('pool.dataset.unlock', 'tank/secret', unlock);
    expect(await locked()).toEqual([]);
    await client.call('vm.start', 1);
  });
});
