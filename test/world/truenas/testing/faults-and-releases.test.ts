import { afterEach, describe, expect, test } from 'vitest';
import { RawClient, startTrueNasFixture, type TrueNasFixture, waitUntilHolds } from './true-nas-fixture.ts';

let nas: TrueNasFixture;
afterEach(() => nas.close());

describe('faults of a call', () => {
  test('drop: the connection ends and nothing was done', async () => {
    nas = await startTrueNasFixture();
    const client = await nas.login();
    nas.switchboard.fail('truenas', /^vm\.create$/, { kind: 'drop' });
    await expect(client.ask('vm.create', { name: 'a', memory: 512 })).rejects.toThrow('closed');
    expect(nas.room.dump().vms).toEqual([]);
  });

  test('lose-reply: the work is done, and the client gets no answer', async () => {
    nas = await startTrueNasFixture();
    const client = await nas.login();
    nas.switchboard.fail('truenas', /^vm\.create$/, { kind: 'lose-reply' });
    await expect(client.ask('vm.create', { name: 'a', memory: 512 })).rejects.toThrow('closed');
    expect(nas.room.dump().vms).toMatchObject([{ name: 'a' }]);
  });

  test('late: the answer comes after the answers of later calls', async () => {
    nas = await startTrueNasFixture();
    const client = await nas.login();
    nas.switchboard.fail('truenas', /^system\.info$/, { kind: 'late', milliseconds: 50 });
    const late = client.post('system.info');
    await client.call('core.ping');
    expect(client.messages.some(({ id }) => id === late)).toBe(false);
    expect((await client.answerTo(late)).result.version).toBe('25.10.6');
  });

  test('error: a CallError with the requested errno and text, or a whole error object', async () => {
    nas = await startTrueNasFixture();
    const client = await nas.login();
    nas.switchboard.fail('truenas', /^vm\.start$/, { kind: 'error', code: 'EBUSY', body: 'not now' });
    expect((await client.ask('vm.start', 1)).error).toMatchObject({
      code: -32001,
      data: { error: 16, reason: '[EBUSY] not now' },
    });
    nas.switchboard.fail('truenas', /^vm\.start$/, { kind: 'error', body: { code: -32000, message: 'too many' } });
    expect((await client.ask('vm.start', 1)).error).toEqual({ code: -32000, message: 'too many' });
  });

  test('uploads: dropped, lost after the work, refused', async () => {
    nas = await startTrueNasFixture();
    nas.switchboard.fail('truenas', /^POST \/_upload$/, { kind: 'drop' });
    await expect(nas.upload('/mnt/tank/x', 'x')).rejects.toThrow();
    expect(nas.room.dump().files).toEqual([{ path: '/mnt/tank', mode: 0o755, uid: 0, gid: 0 }]);
    nas.switchboard.fail('truenas', /^POST \/_upload$/, { kind: 'lose-reply' });
    await expect(nas.upload('/mnt/tank/x', 'x')).rejects.toThrow();
    const client = await nas.login();
    await client.jobEnd(1);
    expect((await client.call('filesystem.stat', '/mnt/tank/x')).size).toBe(1);
    nas.switchboard.fail('truenas', /^POST \/_upload$/, { kind: 'error', status: 503, body: 'busy' });
    expect(await nas.upload('/mnt/tank/x', 'x')).toEqual({ status: 503, text: 'busy' });
  });

  test('every call is recorded with its arguments, without secrets', async () => {
    nas = await startTrueNasFixture();
    const client = await nas.login();
    await client.call('vm.query', [['id', '=', 1]]);
    expect(nas.switchboard.calls.map(({ name, detail }) => [name, detail])).toEqual([
      ['auth.login_ex', undefined],
      ['vm.query', [[['id', '=', 1]]]],
    ]);
  });
});

describe('restart', () => {
  test('of the middleware: connections end, job numbers begin again, machines run on', async () => {
    nas = await startTrueNasFixture();
    const client = await nas.login();
    await client.call('vm.create', { name: 'a', memory: 512 });
    await client.call('vm.start', 1);
    await client.jobEnd(JSON.parse((await nas.upload('/mnt/tank/x', 'x')).text).job_id);
    const { bootId } = nas.room.nas;
    await nas.room.restart();
    await waitUntilHolds(() => client.closed !== undefined, 'the connection ends');
    const again = await nas.login();
    expect(await again.call('core.get_jobs')).toEqual([]);
    expect((await again.call('vm.status', 1)).state).toBe('RUNNING');
    expect(await again.call('system.boot_id')).toBe(bootId);
    expect(JSON.parse((await nas.upload('/mnt/tank/x', 'y')).text).job_id).toBe(1);
  });

  test('meanwhile only the web server answers, with 502', async () => {
    nas = await startTrueNasFixture({ scale: 0.05 });
    const restarted = nas.room.restart();
    expect((await nas.connect()).socket.readyState).toBe(3);
    await restarted;
    expect((await nas.login()).closed).toBeUndefined();
  });

  test('of the host: machines off, another boot id, then those with autostart, whether they ran or not', async () => {
    nas = await startTrueNasFixture();
    const client = await nas.login();
    await client.call('vm.create', { name: 'by_itself', memory: 512 });
    await client.call('vm.create', { name: 'by_hand', memory: 512, autostart: false });
    for (const id of [1, 2]) await client.call('vm.start', id);
    await client.job('vm.stop', 1);
    const { bootId } = nas.room.nas;
    await nas.room.restart({ hostReboot: true });
    const again = await nas.login();
    expect(await again.call('vm.query', [], { select: ['name', 'status.state'] })).toEqual([
      { name: 'by_itself', status: { state: 'RUNNING' } },
      { name: 'by_hand', status: { state: 'STOPPED' } },
    ]);
    expect(await again.call('system.boot_id')).not.toBe(bootId);
  });

  test('a machine that cannot be started at boot stays off, the others start', async () => {
    nas = await startTrueNasFixture();
    const client = await nas.login();
    await client.call('vm.create', { name: 'broken', memory: 512 });
    await client.call('vm.device.create', { vm: 1, attributes: { dtype: 'NIC', nic_attach: 'br0' } });
    await client.call('vm.create', { name: 'fine', memory: 512 });
    nas.room.nas.links.delete('br0');
    await nas.room.restart({ hostReboot: true });
    expect((await (await nas.login()).call('vm.query', [['status.state', '=', 'RUNNING']], { get: true })).name).toBe(
      'fine',
    );
  });
});

describe('idle timeout', () => {
  test('a silent connection is dropped; pings keep it open', async () => {
    nas = await startTrueNasFixture({ seed: { idleSeconds: 1 } });
    const [silent, talking] = [await nas.login(), await nas.login()];
    const timer = setInterval(() => talking.socket.ping(), 50);
    await waitUntilHolds(() => silent.closed !== undefined, 'the silent one is dropped');
    clearInterval(timer);
    expect(talking.closed).toBeUndefined();
  });
});

describe('manual changes by a test', () => {
  test('a lost VM, a lost device, a crashed guest', async () => {
    nas = await startTrueNasFixture();
    const client = await nas.login();
    await client.call('vm.create', { name: 'a', memory: 512 });
    await client.call('vm.device.create', { vm: 1, attributes: { dtype: 'NIC', nic_attach: 'br0' } });
    await client.call('vm.start', 1);
    await nas.room.powerOff('a');
    expect((await client.call('vm.status', 1)).state).toBe('STOPPED');
    nas.room.loseDevice('a', ({ dtype }) => dtype === 'NIC');
    expect(await client.call('vm.device.query')).toEqual([]);
    await nas.room.loseVm('a');
    expect(await client.call('vm.query')).toEqual([]);
    await expect(nas.room.powerOff('a')).rejects.toThrow('no VM a');
  });
});

describe('a connection that breaks with calls in flight', () => {
  const deleteAndLeave = async (version: string) => {
    nas = await startTrueNasFixture({ version, scale: 0.02 });
    const client = await nas.login();
    await client.call('vm.create', { name: 'a', memory: 512 });
    await client.call('vm.start', 1);
    client.post('vm.delete', 1);
    await waitUntilHolds(
      () => nas.room.dump().vms.some((vm) => 'state' in vm && vm.state === 'STOPPED'),
      'it is being deleted',
    );
    client.close();
    const other = await nas.login();
    await other.call('core.ping');
    return other;
  };

  test('25.10: they complete', async () => {
    await deleteAndLeave('25.10');
    await waitUntilHolds(() => nas.room.dump().vms.length === 0, 'it is deleted');
  });

  test('26: they are cancelled midway', async () => {
    const other = await deleteAndLeave('26');
    // The next deletion waits for the lock of the cancelled one, and does the whole work.
    expect(await other.call('vm.query', [], { count: true })).toBe(1);
    await other.call('vm.delete', 1);
    expect(await other.call('vm.query', [], { count: true })).toBe(0);
  });
});

describe('releases', () => {
  test('an unknown one is refused with a list', async () => {
    nas = await startTrueNasFixture();
    await expect(startTrueNasFixture({ version: '24.10' })).rejects.toThrow('there is 25.04.1, 25.04.2, 25.10, 26');
  });

  test('25.04.1 has no machines at all', async () => {
    nas = await startTrueNasFixture({ version: '25.04.1' });
    const client = await nas.login();
    expect((await client.ask('vm.query')).error).toEqual({ code: -32601, message: 'Method does not exist' });
    expect((await client.call('system.info')).version).toBe('25.04.1');
  });

  test('25.04.2: other firmware, discs anywhere below /mnt, options that answer null', async () => {
    nas = await startTrueNasFixture({
      version: '25.04.2',
      seed: { files: [{ path: '/mnt/tank/a.iso', content: 'a' }] },
    });
    const client = await nas.login();
    expect((await client.call('vm.create', { name: 'a', memory: 512 })).bootloader_ovmf).toBe('OVMF_CODE.fd');
    await client.call('vm.device.create', { vm: 1, attributes: { dtype: 'CDROM', path: '/mnt/tank/a.iso' } });
    expect(await client.call('core.set_options', { legacy_jobs: false })).toBeNull();
    await client.call('vm.start', 1);
    expect(await client.call('vm.stop', 1)).toBeGreaterThan(0);
    expect((await client.ask('vm.device.convert', {})).error?.code).toBe(-32601);
  });

  test('26: choices by kind, a MAC that stays, user properties forgotten, errors without frames', async () => {
    nas = await startTrueNasFixture({ version: '26' });
    const client = await nas.login();
    expect(await client.call('vm.device.nic_attach_choices')).toEqual({ BRIDGE: ['br0'], MACVLAN: ['eno1'] });
    const old = await nas.connect('/api/v25.10.0');
    const { user: username, apiKey } = nas.room.line.credentials;
    await old.call('auth.login_ex', { mechanism: 'API_KEY_PLAIN', username, api_key: apiKey });
    expect(await old.call('vm.device.nic_attach_choices')).toHaveProperty('BRIDGE');
    const vm = await client.call('vm.create', { name: 'a', memory: 512 });
    expect(vm.suspend_on_snapshot).toBe(true);
    const nic = await client.call('vm.device.create', { vm: 1, attributes: { dtype: 'NIC', nic_attach: 'br0' } });
    expect(nic.attributes.mac).toMatch(/^00:a0:98:/);
    const dataset = await client.call('pool.dataset.create', {
      name: 'tank/a',
      user_properties: [{ key: 'o:a', value: '1' }],
    });
    expect(dataset.user_properties).toEqual({});
    const updated = await client.call('pool.dataset.update', 'tank/a', {
      user_properties_update: [{ key: 'o:a', value: '1' }],
    });
    expect(updated.user_properties).toHaveProperty('o:a');
    expect((await client.ask('vm.get_instance', 9)).error?.data.trace).not.toHaveProperty('frames');
    expect(await client.call('vm.delete', 1)).toBeNull();
  });

  test('26: deleting a busy dataset answers true and does nothing', async () => {
    nas = await startTrueNasFixture({
      version: '26',
      seed: { datasets: [{ name: 'tank/v', volumeBytes: 1024 ** 3 }] },
    });
    const client = await nas.login();
    await client.call('vm.create', { name: 'a', memory: 512 });
    await client.call('vm.device.create', { vm: 1, attributes: { dtype: 'DISK', path: '/dev/zvol/tank/v' } });
    await client.call('vm.start', 1);
    expect(await client.call('pool.dataset.delete', 'tank/v')).toBe(true);
    expect(nas.room.nas.datasets.has('tank/v')).toBe(true);
  });
});

describe('trust', () => {
  test('the certificate is signed by the CA of the printed line and valid for the address', async () => {
    nas = await startTrueNasFixture();
    const untrusting = await RawClient.open(nas.room.line.url);
    expect(untrusting.socket.readyState).toBe(3);
    expect((await nas.connect()).socket.readyState).toBe(1);
    expect(nas.room.line).toMatchObject({
      room: 'truenas',
      url: expect.stringMatching(/^wss:\/\/127\.0\.0\.1:\d+\/api\/current$/),
    });
  });

  test('an invalid seed is refused with the path of the error', async () => {
    nas = await startTrueNasFixture();
    await expect(startTrueNasFixture({ seed: { pools: [{ size: 1 }] } })).rejects.toThrow('pools[0]');
  });
});
