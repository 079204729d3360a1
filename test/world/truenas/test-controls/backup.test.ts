import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type RawClient, startTrueNasFixture, type TrueNasFixture } from '../testing/true-nas-fixture.ts';

let nas: TrueNasFixture;
let client: RawClient;
const seed = { datasets: [{ name: 'tank/files' }], files: [{ path: '/mnt/tank/files/a', content: 'old' }] };

beforeEach(async () => {
  nas = await startTrueNasFixture({ seed });
  client = await nas.login();
});
afterEach(() => nas.close());

const create = (name: string, row = {}) => client.call('vm.create', { name, memory: 1024, autostart: false, ...row });
const machines = () => nas.room.dump().vms.map((vm) => (vm as { name: string }).name);

describe('a backup', () => {
  test('of the configuration restores old machines, and leaves the pools unchanged', async () => {
    await create('old', { autostart: true });
    const backup = await nas.room.backUp();
    await client.call('vm.delete', 1);
    await create('new');
    await client.call('pool.dataset.create', { name: 'tank/new' });
    const before = nas.room.nas.bootId;
    await nas.room.restore(backup);
    expect(machines()).toEqual(['old']);
    expect(nas.room.nas.bootId).not.toBe(before);
    client = await nas.login();
    expect((await client.call('vm.status', 1)).state).toBe('RUNNING');
    await client.call('pool.dataset.get_instance', 'tank/new');
    // The id of the forgotten machine is used again.
    expect((await create('third')).id).toBe(2);
  });

  test('of everything restores the system byte for byte', async () => {
    await create('old');
    await client.call('pool.snapshot.create', { dataset: 'tank/files', name: 'one' });
    const before = nas.room.dump();
    const backup = await nas.room.backUp();
    const { text } = await nas.upload('/mnt/tank/files/a', 'newer');
    await client.jobEnd(JSON.parse(text).job_id);
    await client.call('pool.snapshot.delete', 'tank/files@one');
    await client.call('vm.update', 1, { description: 'changed' });
    await client.call('pool.dataset.create', { name: 'tank/disk', type: 'VOLUME', volsize: 1024 ** 3 });
    nas.room.revokeKey('root');
    expect(nas.room.dump()).not.toEqual(before);
    await nas.room.restore(backup, 'everything');
    expect(nas.room.dump()).toEqual(before);
    await nas.room.restore(backup, 'everything');
    expect(nas.room.dump()).toEqual(before);
  });
});
