import { describe, expect, it } from 'vitest';
import { waitForCondition } from '../../../../test/support/harness/scripted-http-server.ts';
import { errorCodeOf, tenSecondSignal, useScriptedNas } from '../../../../test/support/harness/scripted-nas.ts';

const at = useScriptedNas();

describe('a job', () => {
  const job = (state: string, more: object = {}) => ({
    id: 7,
    method: 'filesystem.put',
    arguments: ['/mnt/tank/a', {}],
    state,
    ...more,
  });
  const event = (fields: unknown) =>
    JSON.stringify({
      jsonrpc: '2.0',
      method: 'collection_update',
      params: { msg: 'changed', collection: 'core.get_jobs', id: 7, fields },
    });
  const wait = () =>
    at.nas.jobs.wait(7, {
      signal: tenSecondSignal(),
      seconds: 5,
      method: 'filesystem.put',
      firstArgument: '/mnt/tank/a',
    });
  const send = (text: string) => {
    for (const socket of at.server.sockets) socket.send(text);
  };

  it('T9: is known by its event, without a call', async () => {
    await at.nas.jobs.subscribe(tenSecondSignal());
    const waiting = wait();
    send(event(job('RUNNING')));
    send(event(job('SUCCESS')));
    expect((await waiting).state).toBe('SUCCESS');
    expect(at.server.named('core.get_jobs')).toHaveLength(0);
  });

  it('T9: reports its progress, by events or polls, until it has ended', async () => {
    const running = (percent: number | null) => job('RUNNING', { progress: { percent, description: '' } });
    at.server.script = (method) => (method === 'core.get_jobs' ? { result: [running(60)] } : { result: null });
    const reported: number[] = [];
    const options = { signal: tenSecondSignal(), seconds: 5, method: 'filesystem.put', firstArgument: '/mnt/tank/a' };
    const waiting = at.nas.jobs.wait(7, { ...options, onProgress: (percent) => reported.push(percent) });
    await at.nas.jobs.subscribe(tenSecondSignal());
    for (const percent of [10, null, 40]) send(event(running(percent)));
    await waitForCondition(() => reported.length === 2 && at.clock.sleeping > 0, 'two events were told');
    await at.clock.advance(500);
    await waitForCondition(() => reported.length === 3, 'it was asked');
    send(event(job('SUCCESS', { progress: { percent: 100 } })));
    await waiting;
    send(event(running(99)));
    await at.read();
    expect(reported).toEqual([10, 40, 60]);
  });

  it('that ended before the caller waited for it is remembered', async () => {
    await at.nas.jobs.subscribe(tenSecondSignal());
    send(event(job('SUCCESS')));
    await at.read();
    expect((await wait()).state).toBe('SUCCESS');
    expect(at.server.named('core.get_jobs')).toHaveLength(0);
  });

  it('has its result from the event alone, and not beyond the connection', async () => {
    await at.nas.jobs.subscribe(tenSecondSignal());
    send(event(job('RUNNING')));
    await at.read();
    expect(at.nas.jobs.endOf(7)).toBeUndefined();
    send(event(job('SUCCESS')));
    await at.read();
    expect(at.nas.jobs.endOf(7)).toMatchObject({ method: 'filesystem.put', state: 'SUCCESS' });
    const { rpc } = await at.nas.session(tenSecondSignal());
    for (const socket of at.server.sockets) socket.terminate();
    await rpc.closed;
    expect(at.nas.jobs.endOf(7)).toBeUndefined();
    expect(at.server.named('core.get_jobs')).toHaveLength(0);
  });

  it('without an event is polled', async () => {
    at.server.script = (method) => (method === 'core.get_jobs' ? { result: [job('SUCCESS')] } : { result: null });
    const waiting = wait();
    await waitForCondition(() => at.clock.sleeping === 1, 'it waits');
    await at.clock.advance(500);
    expect((await waiting).state).toBe('SUCCESS');
    expect(at.server.named('core.get_jobs')[0]!.params).toEqual([[['id', '=', 7]]]);
  });

  it.each([
    [job('FAILED', { error: '[EFAULT] it broke' }), 'TRUENAS_CALL_FAILED', 'a failure keeps its own words'],
    [job('ABORTED'), 'TRUENAS_CALL_FAILED', 'an aborted job did not do it'],
    [job('FAILED', { error: '[ENOSPC] No space left on device' }), 'TRUENAS_POOL_FULL', 'a full pool is named'],
    [
      job('SUCCESS', { arguments: ['/mnt/tank/other', {}] }),
      'TRUENAS_OUTCOME_UNKNOWN',
      'S54: ids begin again after a restart',
    ],
  ])('%j is %s: %s', async (fields, code) => {
    await at.nas.jobs.subscribe(tenSecondSignal());
    send(event(fields));
    await at.read();
    expect(await errorCodeOf(wait())).toBe(code);
  });

  it('subscribes once for each connection', async () => {
    await at.nas.jobs.subscribe(tenSecondSignal());
    await at.nas.jobs.subscribe(tenSecondSignal());
    const { rpc } = await at.nas.session(tenSecondSignal());
    for (const socket of at.server.sockets) socket.terminate();
    await rpc.closed;
    await at.nas.jobs.subscribe(tenSecondSignal());
    expect(at.server.named('core.subscribe')).toHaveLength(2);
  });
});
