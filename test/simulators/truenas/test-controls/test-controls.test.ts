import { describe, expect, test } from 'vitest';
import { openTrueNas } from '../testing/open-true-nas.ts';
import { startTrueNasFixture, waitUntilHolds } from '../testing/true-nas-fixture.ts';

describe('faults of a call', () => {
  test('late: the answers of later calls come first', async () => {
    const { nas, client } = await openTrueNas();
    nas.switchboard.fail('truenas', /^system\.info$/, { kind: 'late', milliseconds: 50 });
    const late = client.post('system.info');
    await client.call('core.ping');
    expect(client.messages.some(({ id }) => id === late)).toBe(false);
    expect((await client.answerTo(late)).result).toMatchObject({ version: '25.10.6', hostname: 'truenas', cores: 16 });
  });

  test('error: a CallError with the requested errno and text, or a whole error object', async () => {
    const { nas, client } = await openTrueNas();
    nas.switchboard.fail('truenas', /^vm\.start$/, { kind: 'error', code: 'EBUSY', body: 'not now' });
    expect((await client.ask('vm.start', 1)).error).toMatchObject({
      ...{ code: -32001, data: { error: 16, reason: '[EBUSY] not now' } },
    });
    nas.switchboard.fail('truenas', /^vm\.start$/, { kind: 'error', body: { code: -32000, message: 'too many' } });
    expect((await client.ask('vm.start', 1)).error).toEqual({ code: -32000, message: 'too many' });
    expect(nas.switchboard.calls.map(({ name, detail }) => [name, detail])).toEqual([
      ['auth.login_ex', undefined],
      ['vm.start', [1]],
      ['vm.start', [1]],
    ]);
  });

  test.each([
    ['25.10', 'completes', 0],
    ['26', 'is cancelled midway', 1],
  ])('%s: a call whose connection breaks %s', async (version, _, left) => {
    const { nas, client, vm } = await openTrueNas({ version, scale: 0.02 });
    const id = await vm({});
    await client.call('vm.start', id);
    client.post('vm.delete', id);
    await waitUntilHolds(() => nas.simulator.nas.vms.get(id)?.guest === undefined, 'it is being deleted');
    client.close();
    const other = await nas.login();
    // The next deletion waits for the lock of the cancelled one, and does the whole work.
    const { error } = await other.ask('vm.delete', id);
    expect(error === undefined ? 1 : 0).toBe(left);
    expect(await other.call('vm.query', [], { count: true })).toBe(0);
  });

  test('a silent connection is dropped; pings keep it open', async () => {
    const { nas, client: silent } = await openTrueNas({ seed: { idleSeconds: 1 } });
    const talking = await nas.login();
    const timer = setInterval(() => talking.socket.ping(), 50);
    await waitUntilHolds(() => silent.closed !== undefined, 'the silent one is dropped');
    clearInterval(timer);
    expect(talking.closed).toBeUndefined();
  });
});

describe('restart', () => {
  test('of the middleware: connections end, job numbers begin again, machines run on', async () => {
    const { nas, client, vm, put } = await openTrueNas({ scale: 0.05 });
    const id = await vm({});
    await client.call('vm.start', id);
    await put('/mnt/tank/x', 'x');
    const { bootId } = nas.simulator.nas;
    const restarted = nas.simulator.restart();
    // Meanwhile only the web server answers, with 502.
    expect((await nas.connect()).socket.readyState).toBe(3);
    await restarted;
    expect(client.closed).toBeDefined();
    const again = await nas.login();
    expect(await again.call('core.get_jobs')).toEqual([]);
    expect((await again.call('vm.status', id)).state).toBe('RUNNING');
    expect(nas.simulator.nas.bootId).toBe(bootId);
    expect(JSON.parse((await nas.upload('/mnt/tank/x', 'y')).text).job_id).toBe(1);
  });

  test('of the host: another boot id, machines off, then those with autostart that can be started', async () => {
    const { nas, client, vm } = await openTrueNas();
    await vm({ name: 'by_itself' });
    const byHand = await vm({ name: 'by_hand', autostart: false });
    await client.call('vm.start', byHand);
    await vm({ name: 'broken' }, { dtype: 'NIC', nic_attach: 'br0' });
    nas.simulator.nas.links.delete('br0');
    const { bootId } = nas.simulator.nas;
    await nas.simulator.restart({ hostReboot: true });
    expect(await (await nas.login()).call('vm.query', [], { select: ['name', 'status.state'] })).toEqual([
      { name: 'by_itself', status: { state: 'RUNNING' } },
      { name: 'by_hand', status: { state: 'STOPPED' } },
      { name: 'broken', status: { state: 'STOPPED' } },
    ]);
    expect(nas.simulator.nas.bootId).not.toBe(bootId);
  });
});

describe('a backup', () => {
  const seed = { datasets: [{ name: 'tank/files' }], files: [{ path: '/mnt/tank/files/a', content: 'old' }] };

  test('of everything restores the system byte for byte', async () => {
    const { nas, client, vm, put } = await openTrueNas({ seed });
    await vm({ autostart: false });
    const before = nas.simulator.dump();
    const backup = await nas.simulator.backUp();
    await put('/mnt/tank/files/a', 'newer');
    await client.call('vm.update', 1, { description: 'changed' });
    await client.call('pool.dataset.create', { name: 'tank/disk', type: 'VOLUME', volsize: 1024 ** 3 });
    nas.simulator.revokeKey('root');
    expect(nas.simulator.dump()).not.toEqual(before);
    for (let count = 0; count < 2; count++) {
      await nas.simulator.restore(backup, 'everything');
      expect(nas.simulator.dump()).toEqual(before);
    }
  });
});

describe('releases', () => {
  test('an unknown one is refused with a list, and an invalid seed with the path of the error', async () => {
    await expect(startTrueNasFixture({ version: '24.10' })).rejects.toThrow('there is 25.04.1, 25.04.2, 25.10, 26');
    await expect(startTrueNasFixture({ seed: { pools: [{ size: 1 }] } })).rejects.toThrow('pools[0]');
  });

  test('25.04.2: other firmware, discs anywhere below /mnt, options that answer null', async () => {
    const files = [{ path: '/mnt/tank/a.iso', content: 'a' }];
    const { client, vm } = await openTrueNas({ version: '25.04.2', seed: { files } });
    const id = await vm({}, { dtype: 'CDROM', path: '/mnt/tank/a.iso' });
    expect((await client.call('vm.get_instance', id)).bootloader_ovmf).toBe('OVMF_CODE.fd');
    expect(await client.call('core.set_options', { legacy_jobs: false })).toBeNull();
    await client.call('vm.start', id);
    expect(await client.call('vm.stop', id)).toBeGreaterThan(0);
  });

  test('26: choices by kind, a MAC that stays, user properties forgotten, errors without frames', async () => {
    const { nas, client, vm } = await openTrueNas({ version: '26' });
    const choices = { BRIDGE: ['br0'], MACVLAN: ['eno1'] };
    const old = await nas.connect('/api/v25.10.0');
    const { user: username, apiKey } = nas.simulator.line.credentials;
    await old.call('auth.login_ex', { mechanism: 'API_KEY_PLAIN', username, api_key: apiKey });
    for (const one of [client, old]) expect(await one.call('vm.device.nic_attach_choices')).toEqual(choices);
    const id = await vm({}, { dtype: 'NIC', nic_attach: 'br0' });
    expect(await client.call('vm.get_instance', id)).toMatchObject({
      suspend_on_snapshot: true,
      devices: [{ attributes: { mac: expect.stringMatching(/^00:a0:98:/) } }],
    });
    const user_properties = [{ key: 'o:a', value: '1' }];
    const dataset = await client.call('pool.dataset.create', { name: 'tank/a', user_properties });
    expect(dataset.user_properties).toEqual({});
    const change = { user_properties_update: user_properties };
    expect((await client.call('pool.dataset.update', 'tank/a', change)).user_properties).toHaveProperty('o:a');
    expect((await client.ask('vm.get_instance', 9)).error?.data.trace).not.toHaveProperty('frames');
    expect(await client.call('vm.delete', id)).toBeNull();
  });

  test('26: deleting a busy dataset answers true and does nothing', async () => {
    const datasets = [{ name: 'tank/v', volumeBytes: 1024 ** 3 }];
    const { nas, client, vm } = await openTrueNas({ version: '26', seed: { datasets } });
    await client.call('vm.start', await vm({}, { dtype: 'DISK', path: '/dev/zvol/tank/v' }));
    expect(await client.call('pool.dataset.delete', 'tank/v')).toBe(true);
    expect(nas.simulator.nas.datasets.has('tank/v')).toBe(true);
  });

  test('S53: an update to 26 suspends machines for snapshots with any setting, until it is set again', async () => {
    const { nas, vm } = await openTrueNas();
    for (const name of ['one', 'two']) await vm({ name, suspend_on_snapshot: false, autostart: name === 'one' });
    const { bootId } = nas.simulator.nas;
    await expect(nas.simulator.update('24.10')).rejects.toThrow(/no TrueNAS 24\.10 here/);
    await nas.simulator.update('26');
    expect(nas.simulator.nas.bootId).not.toBe(bootId);
    const client = await nas.login();
    expect(await client.call('system.version_short')).toBe('26.0.0-BETA.3');
    expect(await client.call('vm.query')).toMatchObject([
      { name: 'one', suspend_on_snapshot: true, status: { state: 'RUNNING' } },
      { name: 'two', suspend_on_snapshot: true, status: { state: 'STOPPED' } },
    ]);
    const updated = await client.call('vm.update', 1, { suspend_on_snapshot: false });
    expect(updated.suspend_on_snapshot).toBe(false);
  });
});
