import { readFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type RawClient, startTrueNasFixture, type TrueNasFixture } from '../testing/true-nas-fixture.ts';

const seed = {
  datasets: [
    { name: 'tank/a', userProperties: { 'org:who': 'me' } },
    { name: 'tank/a/b' },
    { name: 'tank/v', volumeBytes: 1024 ** 2 },
  ],
  files: [{ path: '/mnt/tank/a/disk.raw', content: 'boot sector' }],
  vms: [{ name: 'old', row: { memory: 512 }, devices: [{ attributes: { dtype: 'DISK', path: '/dev/zvol/tank/v' } }] }],
};
let nas: TrueNasFixture;
let client: RawClient;

beforeEach(async () => {
  nas = await startTrueNasFixture({ seed });
  client = await nas.login();
});
afterEach(() => nas.close());

describe('system', () => {
  test('the version has no product in system.info, and one in system.version', async () => {
    const info = await client.call('system.info');
    expect(info).toMatchObject({
      version: '25.10.6',
      hostname: 'truenas',
      physmem: 65536 * 1024 ** 2,
      cores: 16,
      license: null,
    });
    expect(info.boottime.$date).toBeLessThanOrEqual(Date.now());
    expect(await client.call('system.version')).toBe('TrueNAS-25.10.6');
    expect(await client.call('system.version_short')).toBe('25.10.6');
    expect(await client.call('system.state')).toBe('READY');
  });

  test('two disks for each pool', async () => {
    expect(await client.call('disk.query', [], { select: ['name', 'pool'] })).toEqual([
      { name: 'sda', pool: 'tank' },
      { name: 'sdb', pool: 'tank' },
    ]);
  });
});

describe('filesystem', () => {
  test('stat of folders, mount points and unknown paths', async () => {
    expect(await client.call('filesystem.stat', '/mnt/tank/a')).toMatchObject({
      ...{
        realpath: '/mnt/tank/a',
        type: 'DIRECTORY',
        is_mountpoint: true,
        attributes: ['MOUNT_ROOT'],
        mode: 0o040755,
      },
    });
    expect((await client.ask('filesystem.stat', 'mnt')).error?.data.error).toBe(22);
    expect((await client.ask('filesystem.listdir', '/mnt/none')).error?.data.reason).toBe(
      '[ENOENT] Directory /mnt/none does not exist',
    );
    expect((await client.ask('filesystem.listdir', '/mnt/tank/a/disk.raw')).error?.data.error).toBe(20);
  });

  test('mkdir: a new folder, and the errors', async () => {
    expect(await client.call('filesystem.mkdir', { path: '/mnt/tank/a/new', options: { mode: '700' } })).toMatchObject({
      ...{ name: 'new', type: 'DIRECTORY', mode: 0o040700 },
    });
    const reason = async (path: string) => (await client.ask('filesystem.mkdir', { path })).error?.data.reason;
    expect(await reason('/mnt/tank/a/new')).toBe('[EEXIST] /mnt/tank/a/new: path already exists.');
    expect(await reason('/etc/new')).toBe('[EPERM] /etc/new: path not permitted');
  });

  test('statfs names the dataset and its free bytes', async () => {
    const { source, dest, free_bytes } = await client.call('filesystem.statfs', '/mnt/tank/a/disk.raw');
    expect([source, dest]).toEqual(['tank/a', '/mnt/tank/a']);
    expect(free_bytes).toBe((await client.call('pool.dataset.get_instance', 'tank/a')).available.parsed);
  });

  test('there is no method to remove a file', async () => {
    for (const method of ['filesystem.unlink', 'filesystem.rmdir', 'filesystem.rename', 'filesystem.copy']) {
      expect((await client.ask(method, '/mnt/tank/a/disk.raw')).error?.code).toBe(-32601);
    }
  });
});

describe('zfs.resource', () => {
  test('query since 25.10: properties in another form, user properties on request', async () => {
    const [resource] = await client.call('zfs.resource.query', {
      paths: ['tank/a'],
      properties: ['used'],
      get_user_properties: true,
    });
    expect(resource).toMatchObject({ name: 'tank/a', type: 'FILESYSTEM', user_properties: { 'org:who': 'me' } });
    expect(Object.keys(resource.properties)).toEqual(['used']);
    expect((await client.ask('zfs.resource.destroy', { path: 'tank/a' })).error?.code).toBe(-32601);
  });

  test('destroy since 26: refused with children, then done', async () => {
    await nas.close();
    nas = await startTrueNasFixture({ seed, version: '26' });
    client = await nas.login();
    expect((await client.ask('zfs.resource.destroy', { path: 'tank/a' })).error?.data.extra[0][2]).toBe(39);
    expect(await client.call('zfs.resource.destroy', { path: 'tank/a', recursive: true })).toBeNull();
    expect(nas.room.nas.datasets.has('tank/a/b')).toBe(false);
  });
});

describe('core.bulk', () => {
  test('one method for many arguments: failures are part of the result', async () => {
    const job = await client.job('core.bulk', 'pool.dataset.delete', [['tank/a/b'], ['tank/none']]);
    expect(job).toMatchObject({ state: 'SUCCESS' });
    expect(job.result).toEqual([
      { job_id: null, result: true, error: null },
      { job_id: null, result: null, error: '[ENOENT] None: PoolDataset tank/none does not exist' },
    ]);
  });
});

describe('vm.device.convert', () => {
  test('a raw image is copied to the start of a zvol that is large enough', async () => {
    await client.call('vm.delete', 1);
    expect(await client.call('vm.device.virtual_size', { path: '/mnt/tank/a/disk.raw' })).toBe(11);
    expect(
      (await client.job('vm.device.convert', { source: '/mnt/tank/a/disk.raw', destination: 'tank/v' })).state,
    ).toBe('SUCCESS');
    const vm = await client.call('vm.create', { name: 'new', memory: 512 });
    await client.call('vm.device.create', { vm: vm.id, attributes: { dtype: 'DISK', path: '/dev/zvol/tank/v' } });
    await client.call('vm.start', vm.id);
    const content = readFileSync(nas.runner.started[0]?.disks[0]?.path ?? '');
    expect([content.length, content.subarray(0, 11).toString()]).toEqual([1024 ** 2, 'boot sector']);
  });

  test.each([
    [
      { source: 'tank/v', destination: 'tank/a' },
      'vm.device.convert',
      'One path must be a disk image and the other must be a ZFS volume',
    ],
    [
      { source: '/mnt/tank/none.raw', destination: 'tank/v' },
      'vm.device.convert.source',
      "'/mnt/tank/none.raw' does not exist",
    ],
    [
      { source: 'tank/v', destination: '/mnt/tank/a/disk.raw' },
      'vm.device.convert.destination',
      "'/mnt/tank/a/disk.raw' already exists and would be overwritten",
    ],
  ])('%j fails the job', async (data, path, message) => {
    const job = await client.job('vm.device.convert', data);
    expect(job.exc_info).toMatchObject({ type: 'VALIDATION', extra: [[path, message, expect.any(Number)]] });
  });

  test('fails while a machine runs from the zvol', async () => {
    await client.call('vm.start', 1);
    const job = await client.job('vm.device.convert', { source: '/mnt/tank/a/disk.raw', destination: 'tank/v' });
    expect(job.error).toContain("is part of running VM. 'old' must be stopped first");
  });
});

describe('the choices that a provisioner may read', () => {
  test.each([
    ['vm.bootloader_options', { UEFI: 'UEFI', UEFI_CSM: 'Legacy BIOS' }],
    ['vm.maximum_supported_vcpus', 255],
    ['vm.supports_virtualization', true],
    ['vm.virtualization_details', { supported: true, error: null }],
    ['vm.device.iotype_choices', { NATIVE: 'NATIVE', THREADS: 'THREADS', IO_URING: 'IO_URING' }],
    ['vm.random_mac', expect.stringMatching(/^00:a0:98(:[0-9a-f]{2}){3}$/)],
    ['vm.get_vmemory_in_use', { RNP: 0, PRD: 512 * 1024 ** 2, RPRD: 0 }],
    ['interface.choices', { br0: 'br0', eno1: 'eno1' }],
    ['vm.bootloader_ovmf_choices', expect.objectContaining({ 'OVMF_CODE_4M.fd': 'OVMF_CODE_4M.fd' })],
  ])('%s', async (method, expected) => {
    expect(await client.call(method)).toEqual(expected);
  });

  test('the block size that a pool recommends', async () => {
    expect(await client.call('pool.dataset.recommended_zvol_blocksize', 'tank')).toBe('16K');
  });
});
