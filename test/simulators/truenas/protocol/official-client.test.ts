import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { missingTrueNasClient, runTrueNasClient } from '../../../peers/truenas-client.ts';
import { startTrueNasFixture, type TrueNasFixture } from '../testing/true-nas-fixture.ts';

const missing = missingTrueNasClient();
const seed = { datasets: [{ name: 'tank/disk', volumeBytes: 1024 ** 3 }] };
let nas: TrueNasFixture | undefined;

/** A typical script: create a machine with a disk, start it, stop it by a job, delete it. */
const vmLifecycleCalls = [
  { method: 'core.ping' },
  { method: 'system.info' },
  { method: 'vm.create', params: [{ name: 'one', memory: 1024, autostart: false }] },
  {
    method: 'vm.device.create',
    params: [{ vm: 1, attributes: { dtype: 'DISK', path: '/dev/zvol/tank/disk', type: 'VIRTIO' } }],
  },
  { method: 'vm.start', params: [1] },
  { method: 'vm.stop', params: [1, { force: true }], job: true },
  { method: 'vm.query', params: [[['id', '=', 1]], { get: true }] },
  { method: 'vm.create', params: [{ name: 'two' }] },
  { method: 'vm.get_instance', params: [7] },
  { method: 'vm.stop', params: [1], job: true },
  { method: 'vm.fly' },
];

describe('the official client', { timeout: 120_000 }, () => {
  beforeEach(({ skip }) => {
    if (missing) skip(missing);
  });
  afterEach(() => nas?.close());

  async function run(
    version: string,
    path: string,
    how: object,
    calls: Parameters<typeof runTrueNasClient>[0]['calls'],
  ) {
    nas = await startTrueNasFixture({ version, seed });
    const { url, ca, credentials } = nas.simulator.line;
    const { user: username = '', apiKey = '' } = credentials;
    return await runTrueNasClient({
      uri: new URL(path, url).href,
      ca: ca ?? '',
      login: { username, api_key: apiKey, ...how },
      listen: ['vm.query'],
      calls,
    });
  }

  test.each([
    ['25.04.2', '/api/current', 'PLAIN'],
    ['25.10', '/api/current', 'PLAIN'],
    ['25.10', '/api/v25.10.0', 'PLAIN'],
    ['26', '/api/current', 'PLAIN'],
    ['26', '/api/current', 'SCRAM'],
  ])('runs a whole machine lifecycle on %s at %s with %s', async (version, path, auth_mechanism) => {
    const { login, calls, events } = await run(version, path, { auth_mechanism }, vmLifecycleCalls);
    expect(login).toEqual({ result: null });
    const [ping, info, vm, disk, start, stop, state, unnamed, unknown, idle, noMethod] = calls;
    expect(ping).toEqual({ result: 'pong' });
    // The client decodes dates of the extended JSON.
    expect(info?.result.datetime).toMatch(/^\d{4}-\d\d-\d\d \d\d:/);
    expect(vm?.result).toMatchObject({ id: 1, name: 'one' });
    expect(disk?.result.attributes.serial).toMatch(/^[A-Za-z0-9]{8}$/);
    expect([start, stop]).toEqual([{ result: null }, { result: null }]);
    expect(state?.result.status.state).toBe('STOPPED');
    expect(unnamed?.refused).toEqual([['vm_create.memory', 'Field required', 22]]);
    expect(unknown?.refused).toEqual([[null, 'VM 7 does not exist', 2]]);
    expect(idle?.error?.text).toMatch(/VM state is currently not 'RUNNING'/);
    expect(noMethod?.error?.text).toMatch(/^Method does not exist$/);
    expect(events).toContainEqual(['ADDED', 'vm.query']);
  });

  test('reports why a login is refused', async () => {
    expect((await run('25.10', '/api/current', {}, [])).login?.error?.text).toMatch(
      /SCRAM authentication is not supported/,
    );
    await nas?.close();
    const late = { auth_mechanism: 'PLAIN', username: 'root', api_key: '1-wrong' };
    expect((await run('26', '/api/current', late, [])).login?.error?.text).toBe('Invalid API key');
    await nas?.close();
    const wrong = { username: 'root', api_key: `1-${'b'.repeat(64)}` };
    expect((await run('26', '/api/current', wrong, [])).login?.error).toBeDefined();
  });
});
