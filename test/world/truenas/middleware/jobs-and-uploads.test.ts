import { FormData } from 'undici';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  type RawClient,
  startTrueNasFixture,
  type TrueNasFixture,
  waitUntilHolds,
} from '../testing/true-nas-fixture.ts';

let nas: TrueNasFixture;
let client: RawClient;

beforeEach(async () => {
  nas = await startTrueNasFixture();
  client = await nas.login();
});
afterEach(() => nas.close());

function form(data: unknown, files: Record<string, string> = { file: 'content' }): FormData {
  const result = new FormData();
  result.append('data', typeof data === 'string' ? data : JSON.stringify(data));
  for (const [name, content] of Object.entries(files)) result.append(name, new Blob([content]), 'name');
  return result;
}

const put = (path: string, options = {}) => ({ method: 'filesystem.put', params: [path, options] });

describe('POST /_upload', () => {
  test('200 is sent when the file is complete, while the job still runs', async () => {
    await nas.close();
    nas = await startTrueNasFixture({ scale: 0.2 });
    client = await nas.login();
    const content = Buffer.alloc(200_000, 'x');
    const { status, text } = await nas.upload('/mnt/tank/new/folder/file', content);
    expect(status).toBe(200);
    const { job_id: id } = JSON.parse(text);
    expect((await client.call('filesystem.stat', '/mnt/tank/new/folder/file')).size).toBe(content.length);
    expect((await client.call('core.get_jobs', [['id', '=', id]]))[0].state).toBe('RUNNING');
    const job = await client.jobEnd(id);
    expect(job).toMatchObject({
      state: 'SUCCESS',
      result: true,
      error: null,
      method: 'filesystem.put',
      progress: { percent: 100 },
    });
  });

  test.each([
    ['no JSON', () => form('{'), 400],
    ['no method', () => form({}), 422],
    ['an unknown method', () => form({ method: 'no.such' }), 422],
    ['no file', () => form(put('/mnt/tank/x'), {}), 405],
    ['another part than file', () => form(put('/mnt/tank/x'), { other: 'x' }), 405],
    ['bad arguments', () => form({ method: 'filesystem.put', params: [5] }), 500],
    [
      'more than five files',
      () => {
        const many = form(put('/mnt/tank/x'));
        for (let count = 0; count < 5; count++) many.append('file', new Blob(['x']), 'x');
        return many;
      },
      405,
    ],
  ])('%s is refused', async (_, make, status) => {
    expect((await nas.post(make())).status).toBe(status);
  });

  test('a file part before the data part is refused', async () => {
    const wrong = new FormData();
    wrong.append('file', new Blob(['x']), 'x');
    wrong.append('data', JSON.stringify(put('/mnt/tank/x')));
    expect((await nas.post(wrong)).status).toBe(405);
  });

  test('credentials: missing and wrong ones get 401; Bearer, Token and Basic are accepted', async () => {
    expect((await nas.post(form(put('/mnt/tank/a')), {})).status).toBe(401);
    expect((await nas.post(form(put('/mnt/tank/a')), { authorization: 'Bearer 1-x' })).status).toBe(401);
    const token = await client.call('auth.generate_token');
    expect((await nas.post(form(put('/mnt/tank/a')), { authorization: `Token ${token}` })).status).toBe(200);
  });

  test('S35: mode and append are applied, and missing folders are created', async () => {
    const send = async (content: string, options: object) => {
      const { text } = await nas.upload('/mnt/tank/deep/er/file', content, options);
      await client.jobEnd(JSON.parse(text).job_id);
    };
    await send('one', { mode: 0o640 });
    await send('two', { append: true });
    const stat = await client.call('filesystem.stat', '/mnt/tank/deep/er/file');
    expect(stat).toMatchObject({ type: 'FILE', size: 6, mode: 0o100640, uid: 0, user: 'root' });
    expect(stat).not.toHaveProperty('name');
    expect(await client.call('filesystem.listdir', '/mnt/tank/deep/er')).toMatchObject([
      { name: 'file', type: 'FILE' },
    ]);
  });

  test('a job that fails after 200 reports the reason', async () => {
    await client.call('pool.dataset.create', { name: 'tank/folder' });
    const { status, text } = await nas.upload('/mnt/tank/folder', 'x');
    expect(status).toBe(200);
    const job = await client.jobEnd(JSON.parse(text).job_id);
    expect(job).toMatchObject({
      state: 'FAILED',
      result: null,
      error: "[Errno 21] Is a directory: '/mnt/tank/folder'",
    });
    expect(job.exc_info).toMatchObject({ errno: null, extra: null });
  });

  test('a full pool fails the job, and the part that fitted remains', async () => {
    await nas.room.fillPool('tank', 100_000);
    const { text } = await nas.upload('/mnt/tank/big', Buffer.alloc(300_000));
    expect(await client.jobEnd(JSON.parse(text).job_id)).toMatchObject({
      state: 'FAILED',
      error: '[Errno 28] No space left on device',
    });
    expect((await client.call('filesystem.stat', '/mnt/tank/big')).size).toBeLessThan(300_000);
  });

  test('called over the WebSocket it has no pipe', async () => {
    expect((await client.ask('filesystem.put', '/mnt/tank/x')).error?.data.reason).toBe("Pipe 'input' is not open");
  });
});

describe('jobs', () => {
  const startedVm = async () => {
    const vm = await client.call('vm.create', { name: 'a', memory: 512 });
    await client.call('vm.start', vm.id);
    return vm.id as number;
  };

  test('a job method answers a number at once, and the job records the id of the request', async () => {
    const vm = await startedVm();
    const messageId = client.post('vm.stop', vm);
    const { result } = await client.answerTo(messageId);
    expect(result).toBe(1);
    const job = await client.jobEnd(result);
    expect(job).toMatchObject({
      id: 1,
      message_ids: [messageId],
      method: 'vm.stop',
      arguments: [vm, { force: false, force_after_timeout: false }],
      abortable: false,
      transient: false,
    });
  });

  test('with legacy_jobs off the call waits for the end and answers its result or its error', async () => {
    const vm = await startedVm();
    await client.call('core.set_options', { legacy_jobs: false });
    expect(await client.call('vm.stop', vm)).toBeNull();
    const { error } = await client.ask('vm.stop', vm);
    expect(error?.data.reason).toBe("[EFAULT] VM state is currently not 'RUNNING'");
  });

  test('a failed job: state, error, exc_info', async () => {
    const vm = await client.call('vm.create', { name: 'a', memory: 512 });
    expect(await client.job('vm.stop', vm.id)).toMatchObject({
      state: 'FAILED',
      error: "[EFAULT] VM state is currently not 'RUNNING'",
      exc_info: { type: 'CallError', errno: 14, extra: null },
    });
  });

  test('the next job of a method can be made to fail', async () => {
    nas.room.failNextJob('filesystem.put', 'the disk is on fire', 'ENOSPC');
    const { status, text } = await nas.upload('/mnt/tank/x', 'x');
    expect(status).toBe(200);
    expect((await client.jobEnd(JSON.parse(text).job_id)).error).toBe('[ENOSPC] the disk is on fire');
  });

  test('two jobs with the same lock run one after the other', async () => {
    nas.runner.minding = false;
    const vm = await startedVm();
    const first = await client.call('vm.stop', vm);
    const second = await client.call('vm.stop', vm, { force: true });
    expect((await client.call('core.get_jobs', [['id', '=', second]]))[0].state).toBe('WAITING');
    const [one, two] = [await client.jobEnd(first), await client.jobEnd(second)];
    expect([one.state, two.state]).toEqual(['SUCCESS', 'SUCCESS']);
    expect(two.time_finished.$date).toBeGreaterThanOrEqual(one.time_finished.$date);
  });

  test('core.job_wait is a job of its own; a job that is not abortable is not aborted', async () => {
    const vm = await startedVm();
    const stop = await client.call('vm.stop', vm);
    expect((await client.job('core.job_wait', stop)).state).toBe('SUCCESS');
    expect((await client.ask('core.job_abort', stop)).error?.code).toBe(-32001);
  });

  test('are hidden from other users, except full administrators', async () => {
    await nas.close();
    nas = await startTrueNasFixture({
      seed: { users: [{ name: 'root' }, { name: 'small', apiKey: 'k', roles: ['VM_WRITE'] }] },
    });
    client = await nas.login();
    await startedVm();
    await client.job('vm.stop', 1);
    const small = await nas.connect();
    await small.call('auth.login_ex', { mechanism: 'API_KEY_PLAIN', username: 'small', api_key: '2-k' });
    expect(await small.call('core.get_jobs')).toEqual([]);
  });
});

describe('events', () => {
  const heard = (collection: string) =>
    client.messages
      .filter(
        ({ method, params }) =>
          method === 'collection_update' && (params as { collection: string }).collection === collection,
      )
      .map(
        ({ params }) =>
          params as {
            msg: string;
            id: unknown;
            fields?: { status?: { state: string }; devices?: unknown; state?: string };
            extra?: { state: string };
          },
      );

  test('are sent only to subscribers, and not after unsubscribing', async () => {
    await client.call('vm.create', { name: 'a', memory: 512 });
    expect(heard('vm.query')).toEqual([]);
    const id = await client.call('core.subscribe', 'vm.query');
    await client.call('core.unsubscribe', id);
    await client.call('vm.create', { name: 'b', memory: 512 });
    expect(heard('vm.query')).toEqual([]);
  });

  test('a machine that starts and stops: raw state names, no devices, the event in extra', async () => {
    const vm = await client.call('vm.create', { name: 'a', memory: 512 });
    await client.call('core.subscribe', 'vm.query');
    await client.call('vm.start', vm.id);
    await nas.room.powerOff('a');
    await waitUntilHolds(() => heard('vm.query').some(({ extra }) => extra?.state === 'SHUTOFF'), 'it is off');
    const states = heard('vm.query').map(({ fields, extra }) => `${fields?.status?.state}/${extra?.state}`);
    expect(states).toContain('UPDATING CONFIGURATION/RUNNING');
    expect(states).toContain('RUNNING/BLOCKED');
    expect(states.at(-1)).toBe('SHUTOFF/SHUTOFF');
    expect(heard('vm.query').every(({ fields }) => !('devices' in (fields ?? {})))).toBe(true);
  });

  test('a change by a call: the whole entry, and only the id for a deleted object', async () => {
    await client.call('core.subscribe', 'pool.dataset.query');
    await client.call('pool.dataset.create', { name: 'tank/x' });
    await client.call('pool.dataset.update', 'tank/x', { comments: 'hello' });
    await client.call('pool.dataset.delete', 'tank/x');
    const events = heard('pool.dataset.query');
    expect(events.map(({ msg }) => msg)).toEqual(['added', 'changed', 'removed']);
    expect(events[0]).toMatchObject({ id: 'tank/x', fields: { type: 'FILESYSTEM' } });
    expect(events[2]).not.toHaveProperty('fields');
  });

  test('the states of a job', async () => {
    await client.call('core.subscribe', 'core.get_jobs');
    const { text } = await nas.upload('/mnt/tank/x', 'x');
    await client.jobEnd(JSON.parse(text).job_id);
    await waitUntilHolds(
      () => heard('core.get_jobs').some(({ fields }) => fields?.state === 'SUCCESS'),
      'the end is heard',
    );
    expect(heard('core.get_jobs').map(({ fields }) => fields?.state)).toEqual(
      expect.arrayContaining(['WAITING', 'RUNNING', 'SUCCESS']),
    );
  });
});
