import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type RawClient, startTrueNasFixture, type TrueNasFixture } from '../testing/true-nas-fixture.ts';

let nas: TrueNasFixture;
let client: RawClient;
beforeEach(async () => {
  nas = await startTrueNasFixture({ seed: { latencies: { 'vm.query': 300 } } });
  client = await nas.login();
});
afterEach(() => nas.close());

describe('the latency of a call', () => {
  test('is set by the seed for each method, and applies to each call separately', async () => {
    const start = performance.now();
    const slow = [client.post('vm.query'), client.post('vm.query')];
    await client.call('vm.device.query');
    expect(client.messages.some(({ id }) => slow.includes(Number(id)))).toBe(false);
    await Promise.all(slow.map((id) => client.answerTo(id)));
    expect(performance.now() - start).toBeGreaterThanOrEqual(295);
  });

  test('can be set, also for all other methods, and precedes the work', async () => {
    nas.room.setLatency('*', 200);
    nas.room.setLatency('core.get_jobs', 0);
    const creating = client.call('vm.create', { name: 'late', memory: 1024 });
    await client.call('core.get_jobs');
    expect(nas.room.dump().vms).toEqual([]);
    await creating;
    expect(nas.room.dump().vms).toHaveLength(1);
  });

  test('is spent in the job if the method is one', async () => {
    nas.room.setLatency('filesystem.put', 200);
    await client.call('pool.dataset.create', { name: 'tank/files' });
    const { text } = await nas.upload('/mnt/tank/files/a', 'content');
    const id = JSON.parse(text).job_id;
    expect((await client.call('core.get_jobs', [['id', '=', id]]))[0].state).toBe('RUNNING');
    expect((await client.jobEnd(id)).state).toBe('SUCCESS');
  });
});

describe('a job that hangs', () => {
  beforeEach(async () => {
    const { id } = await client.call('vm.create', { name: 'one', memory: 1024 });
    await client.call('vm.start', id);
  });
  const state = async (id: number) => (await client.call('core.get_jobs', [['id', '=', id]]))[0]?.state;

  test('stays RUNNING without doing its work, until it is released', async () => {
    const letGo = nas.room.hangNextJob('vm.stop');
    const job = await client.call('vm.stop', 1, { force: true });
    await client.call('core.ping');
    expect(await state(job)).toBe('RUNNING');
    expect((await client.call('vm.status', 1)).state).toBe('RUNNING');
    letGo();
    expect((await client.jobEnd(job)).state).toBe('SUCCESS');
    expect((await client.call('vm.status', 1)).state).toBe('STOPPED');
  });

  test('blocks jobs with the same lock, and is gone after a restart', async () => {
    nas.room.hangNextJob('vm.stop');
    const first = await client.call('vm.stop', 1);
    const second = await client.call('vm.stop', 1);
    expect([await state(first), await state(second)]).toEqual(['RUNNING', 'WAITING']);
    await nas.room.restart();
    client = await nas.login();
    expect(await client.call('core.get_jobs')).toEqual([]);
    expect((await client.call('vm.status', 1)).state).toBe('RUNNING');
  });
});
