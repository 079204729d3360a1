import { describe, expect, test } from 'vitest';
import { openTrueNas } from '../testing/open-true-nas.ts';

/** A running machine, and the state of a job. */
async function open(options: Parameters<typeof openTrueNas>[0] = {}) {
  const nas = await openTrueNas(options);
  const id = await nas.vm({});
  await nas.client.call('vm.start', id);
  const state = async (job: number) => (await nas.client.call('core.get_jobs', [['id', '=', job]]))[0]?.state;
  return { ...nas, id, state };
}

describe('a job', () => {
  test('is answered with its number at once, and records the id of the request', async () => {
    const { client, id } = await open();
    const messageId = client.post('vm.stop', id);
    const { result } = await client.answerTo(messageId);
    expect(await client.jobEnd(result)).toMatchObject({
      ...{ id: 1, message_ids: [messageId], method: 'vm.stop', state: 'SUCCESS', error: null, abortable: false },
      arguments: [id, { force: false, force_after_timeout: false }],
    });
  });

  test('with legacy_jobs off the call waits for the end and answers its result or its error', async () => {
    const { client, id, reason } = await open();
    expect(await client.call('core.set_options', { legacy_jobs: false })).toMatchObject({ legacy_jobs: false });
    expect(await client.call('vm.stop', id)).toBeNull();
    expect(await reason('vm.stop', id)).toBe("[EFAULT] VM state is currently not 'RUNNING'");
  });

  test('that fails has an error and exc_info; a test can fail the next one', async () => {
    const { nas, client, id, put } = await open();
    await client.call('vm.poweroff', id);
    expect(await client.job('vm.stop', id)).toMatchObject({
      ...{ state: 'FAILED', result: null, error: "[EFAULT] VM state is currently not 'RUNNING'" },
      exc_info: { type: 'CallError', errno: 14, extra: null },
    });
    nas.simulator.failNextJob('filesystem.put', 'the disk is on fire', 'ENOSPC');
    expect((await put('/mnt/tank/x', 'x')).error).toBe('[ENOSPC] the disk is on fire');
  });

  test('with the lock of another one runs after it', async () => {
    const { nas, client, id, state } = await open();
    nas.runner.minding = false;
    const first = await client.call('vm.stop', id);
    const second = await client.call('vm.stop', id, { force: true });
    expect(await state(second)).toBe('WAITING');
    const [one, two] = [await client.jobEnd(first), await client.jobEnd(second)];
    expect([one.state, two.state]).toEqual(['SUCCESS', 'SUCCESS']);
    expect(two.time_finished.$date).toBeGreaterThanOrEqual(one.time_finished.$date);
  });

  test('is hidden from other users, except full administrators', async () => {
    const users = [{ name: 'root' }, { name: 'small', apiKey: 'k', roles: ['VM_WRITE'] }];
    const { nas, client, id } = await open({ seed: { users } });
    await client.job('vm.stop', id);
    const small = await nas.connect();
    await small.call('auth.login_ex', { mechanism: 'API_KEY_PLAIN', username: 'small', api_key: '2-k' });
    expect(await small.call('core.get_jobs')).toEqual([]);
  });

  test('that hangs stays RUNNING without its work until it is released, and is gone after a restart', async () => {
    const { nas, client, id, state } = await open();
    const letGo = nas.simulator.hangNextJob('vm.stop');
    const job = await client.call('vm.stop', id, { force: true });
    await client.call('core.ping');
    expect(await state(job)).toBe('RUNNING');
    expect((await client.call('vm.status', id)).state).toBe('RUNNING');
    letGo();
    expect((await client.jobEnd(job)).state).toBe('SUCCESS');
    await client.call('vm.start', id);
    nas.simulator.hangNextJob('vm.stop');
    const [first, second] = [await client.call('vm.stop', id), await client.call('vm.stop', id)];
    expect([await state(first), await state(second)]).toEqual(['RUNNING', 'WAITING']);
    await nas.simulator.restart();
    const again = await nas.login();
    expect(await again.call('core.get_jobs')).toEqual([]);
    expect((await again.call('vm.status', id)).state).toBe('RUNNING');
  });
});

describe('the latency of a call', () => {
  test('is set for each method, and applies to each call separately', async () => {
    const { nas, client } = await openTrueNas({ seed: { latencies: { 'vm.query': 300 } } });
    const start = performance.now();
    const slow = [client.post('vm.query'), client.post('vm.query')];
    await client.call('vm.device.query');
    expect(client.messages.some(({ id }) => slow.includes(Number(id)))).toBe(false);
    await Promise.all(slow.map((id) => client.answerTo(id)));
    expect(performance.now() - start).toBeGreaterThanOrEqual(295);
    nas.simulator.setLatency('*', 200);
    nas.simulator.setLatency('core.get_jobs', 0);
    const creating = client.call('vm.create', { name: 'late', memory: 1024 });
    await client.call('core.get_jobs');
    expect(nas.simulator.dump().vms).toEqual([]);
    await creating;
    expect(nas.simulator.dump().vms).toHaveLength(1);
  });

  test('is spent in the job if the method is one', async () => {
    const { nas, client, state } = await open();
    nas.simulator.setLatency('filesystem.put', 200);
    const id = JSON.parse((await nas.upload('/mnt/tank/a', 'content')).text).job_id;
    expect(await state(id)).toBe('RUNNING');
    expect((await client.jobEnd(id)).state).toBe('SUCCESS');
  });
});
