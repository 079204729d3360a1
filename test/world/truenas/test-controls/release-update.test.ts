import { afterEach, expect, test } from 'vitest';
import { startTrueNasFixture, type TrueNasFixture } from '../testing/true-nas-fixture.ts';

let nas: TrueNasFixture;
afterEach(() => nas.close());

test('S53: an update to 26 adds its methods, and suspends machines for snapshots with any setting', async () => {
  nas = await startTrueNasFixture({ version: '25.10' });
  let client = await nas.login();
  for (const name of ['one', 'two']) {
    await client.call('vm.create', { name, memory: 1024, suspend_on_snapshot: false, autostart: name === 'one' });
  }
  const before = nas.room.nas.bootId;
  await nas.room.update('26');
  expect(nas.room.nas.bootId).not.toBe(before);
  client = await nas.login();
  expect(await client.call('system.version_short')).toBe('26.0.0-BETA.3');
  expect(await client.call('vm.query')).toMatchObject([
    { name: 'one', suspend_on_snapshot: true, status: { state: 'RUNNING' } },
    { name: 'two', suspend_on_snapshot: true, status: { state: 'STOPPED' } },
  ]);
  expect(await client.call('vm.device.nic_attach_choices')).toEqual({ BRIDGE: ['br0'], MACVLAN: ['eno1'] });
  expect(await client.call('vm.update', 1, { suspend_on_snapshot: false })).toMatchObject({
    suspend_on_snapshot: false,
  });
});

test('an update to an unsupported release is refused', async () => {
  nas = await startTrueNasFixture();
  await expect(nas.room.update('24.10')).rejects.toThrow(/no TrueNAS 24\.10 here/);
});
