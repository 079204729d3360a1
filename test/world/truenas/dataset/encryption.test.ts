import { afterEach, beforeEach, expect, test } from 'vitest';
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
const volume = (name: string, more: object) => create({ name, type: 'VOLUME', volsize: gibibyte, ...more });

test('a passphrase zvol is locked, and unlocked only with the right passphrase', async () => {
  const options = {
    encryption: true,
    inherit_encryption: false,
    encryption_options: { passphrase: 'correct horse' },
  };
  const entry = await volume('tank/secret', options);
  expect(entry).toMatchObject({ encrypted: true, encryption_root: 'tank/secret', key_loaded: true, locked: false });
  expect(entry.key_format.value).toBe('PASSPHRASE');
  expect(await client.job('pool.dataset.lock', 'tank/secret')).toMatchObject({ state: 'SUCCESS', result: true });
  const unlock = async (passphrase: string) =>
    (await client.job('pool.dataset.unlock', 'tank/secret', { datasets: [{ name: 'tank/secret', passphrase }] }))
      .result;
  expect((await unlock('wrong one')).failed['tank/secret'].error).toBe('Invalid Key');
  expect(await unlock('correct horse')).toEqual({ unlocked: ['tank/secret'], failed: {} });
});

test('descendants of a passphrase are locked with it, and a root below a locked one waits for that', async () => {
  const encrypted = (passphrase: string) => ({
    ...{ encryption: true, inherit_encryption: false, encryption_options: { passphrase } },
  });
  await create({ name: 'tank/above', ...encrypted('correct horse') });
  await create({ name: 'tank/above/below', ...encrypted('battery staple') });
  await volume('tank/above/below/disk', {});
  await nas.room.restart({ hostReboot: true });
  client = await nas.login();
  const unlock = async (name: string, datasets: object[]) =>
    await client.job('pool.dataset.unlock', name, { datasets });
  const below = { name: 'tank/above/below', passphrase: 'battery staple' };
  const disk = await client.call('pool.dataset.get_instance', 'tank/above/below/disk');
  expect(disk).toMatchObject({ locked: true, encryption_root: below.name });
  expect((await unlock(disk.id, [{ ...below, name: disk.id }])).error).toMatch(/Only encryption roots can be unlocked/);
  expect((await unlock(below.name, [])).error).toMatch(/Please specify key for/);
  expect((await unlock(below.name, [{ ...below, key: 'a'.repeat(64) }])).error).toMatch(/Must not be specified/);
  expect((await unlock(below.name, [below])).error).toMatch(/locked parents tank\/above which must be unlocked first/);
  const job = await unlock('tank/above', [{ name: 'tank/above', passphrase: 'correct horse' }]);
  expect(job.arguments[1].datasets[0].passphrase).toBe('********');
  expect((await unlock(below.name, [below])).result).toEqual({ unlocked: [below.name], failed: {} });
  expect((await client.call('pool.dataset.get_instance', disk.id)).locked).toBe(false);
});

test('the algorithm is shown in upper case', async () => {
  const data = {
    name: 'tank/x',
    encryption: true,
    inherit_encryption: false,
    encryption_options: { algorithm: 'aes-256-gcm', generate_key: true },
  };
  const { error } = await client.ask('pool.dataset.create', data);
  expect(error?.data?.extra[0][0]).toBe('data.PoolDatasetCreateFilesystem.encryption_options.algorithm');
});
