import { Agent, FormData, request } from 'undici';
import { describe, expect, onTestFinished, test } from 'vitest';
import { openTrueNas } from '../testing/open-true-nas.ts';
import { waitUntilHolds } from '../testing/true-nas-fixture.ts';

function form(data: unknown, files: Record<string, string> = { file: 'content' }): FormData {
  const result = new FormData();
  result.append('data', typeof data === 'string' ? data : JSON.stringify(data));
  for (const [name, content] of Object.entries(files)) result.append(name, new Blob([content]), 'name');
  return result;
}
const put = (path: string, options = {}) => ({ method: 'filesystem.put', params: [path, options] });

describe('POST /_upload', () => {
  test('S35: 200 is sent when the file is complete, while the job still runs; a description has no name', async () => {
    const { nas, client } = await openTrueNas({ scale: 0.2 });
    const path = '/mnt/tank/new/folder/file';
    const { status, text } = await nas.upload(path, Buffer.alloc(200_000, 'x'), { mode: 0o640 });
    const { job_id: id } = JSON.parse(text);
    const stat = await client.call('filesystem.stat', path);
    expect([status, stat.size, stat.type, 'name' in stat]).toEqual([200, 200_000, 'FILE', false]);
    expect((await client.call('core.get_jobs', [['id', '=', id]]))[0].state).toBe('RUNNING');
    expect(await client.jobEnd(id)).toMatchObject({
      ...{ state: 'SUCCESS', result: true, error: null, method: 'filesystem.put', progress: { percent: 100 } },
    });
    expect(await client.call('filesystem.stat', path)).toMatchObject({ mode: 0o100640, uid: 0, user: 'root' });
    expect(await client.call('filesystem.listdir', '/mnt/tank/new/folder')).toMatchObject([
      { name: 'file', type: 'FILE', size: 200_000 },
    ]);
  });

  const many = form(put('/mnt/tank/x'));
  for (let count = 0; count < 5; count++) many.append('file', new Blob(['x']), 'x');
  const reversed = new FormData();
  reversed.append('file', new Blob(['x']), 'x');
  reversed.append('data', JSON.stringify(put('/mnt/tank/x')));
  test.each([
    ['no JSON', form('{'), 400],
    ['no method', form({}), 422],
    ['an unknown method', form({ method: 'no.such' }), 422],
    ['no file', form(put('/mnt/tank/x'), {}), 405],
    ['another part than file', form(put('/mnt/tank/x'), { other: 'x' }), 405],
    ['a file before the data', reversed, 405],
    ['bad arguments', form({ method: 'filesystem.put', params: [5] }), 500],
    ['more than five files', many, 405],
  ])('%s is refused', async (_, body, status) => {
    const { nas, reason } = await openTrueNas();
    expect((await nas.post(body)).status).toBe(status);
    expect(await reason('filesystem.put', '/mnt/tank/x')).toBe("Pipe 'input' is not open");
  });

  test('credentials: missing and wrong ones get 401, and a token for one use is accepted once', async () => {
    const { nas, client } = await openTrueNas();
    const status = async (headers: Record<string, string>) =>
      (await nas.post(form(put('/mnt/tank/a')), headers)).status;
    expect(await status({})).toBe(401);
    expect(await status({ authorization: 'Bearer 1-x' })).toBe(401);
    const token = await client.call('auth.generate_token', 60, {}, true, true);
    expect(await status({ authorization: `Token ${token}` })).toBe(200);
    expect(await status({ authorization: `Token ${token}` })).toBe(401);
  });

  test('a job that fails after 200 reports the reason, and the part that fitted remains', async () => {
    const { nas, client, put: upload } = await openTrueNas({ seed: { datasets: [{ name: 'tank/folder' }] } });
    expect(await upload('/mnt/tank/folder', 'x')).toMatchObject({
      ...{ state: 'FAILED', result: null, error: "[Errno 21] Is a directory: '/mnt/tank/folder'" },
      exc_info: { errno: null, extra: null },
    });
    await nas.simulator.fillPool('tank', 100_000);
    expect((await upload('/mnt/tank/big', Buffer.alloc(300_000))).error).toBe('[Errno 28] No space left on device');
    expect((await client.call('filesystem.stat', '/mnt/tank/big')).size).toBeLessThan(300_000);
  });
});

test('filesystem.stat and filesystem.listdir describe folders, and refuse unknown paths', async () => {
  const files = [{ path: '/mnt/tank/a/file', content: 'x' }];
  const { client, reason } = await openTrueNas({ seed: { datasets: [{ name: 'tank/a' }], files } });
  expect(await client.call('filesystem.stat', '/mnt/tank/a')).toMatchObject({
    ...{ realpath: '/mnt/tank/a', type: 'DIRECTORY', is_mountpoint: true, mode: 0o040755 },
  });
  expect(await reason('filesystem.stat', 'mnt')).toMatch(/^\[EINVAL\]/);
  expect(await reason('filesystem.listdir', '/mnt/none')).toBe('[ENOENT] Directory /mnt/none does not exist');
  expect(await reason('filesystem.listdir', '/mnt/tank/a/file')).toMatch(/^\[ENOTDIR\]/);
});

describe('GET /_download', () => {
  const content = 'content of a file. '.repeat(20_000);

  /** A clock so slow that no client is too late. */
  async function open(scale = 0.1) {
    const files = [{ path: '/mnt/tank/a', content }];
    const nas = await openTrueNas({ scale, seed: { files } });
    const agent = new Agent({ connect: { ca: nas.nas.ca } });
    onTestFinished(() => agent.close());
    const fetch = async (path: string) => {
      const url = new URL(path, nas.nas.simulator.line.url.replace('wss:', 'https:'));
      const { statusCode, headers, body } = await request(url, { dispatcher: agent });
      return { status: statusCode, headers, text: await body.text() };
    };
    const get = (path = '/mnt/tank/a'): Promise<[number, string]> =>
      nas.client.call('core.download', 'filesystem.get', [path], 'a.txt');
    return { ...nas, fetch, get };
  }

  test('sends the output of a job, which ends with it; it works once, with the token that came with it', async () => {
    const { client, fetch, get } = await open();
    const [job, path] = await get();
    expect((await client.call('core.get_jobs', [['id', '=', job]]))[0].state).toBe('RUNNING');
    const { status, headers, text } = await fetch(path);
    expect([status, text.length]).toEqual([200, content.length]);
    expect(headers['content-disposition']).toBe('attachment; filename="a.txt"');
    expect((await client.jobEnd(job)).state).toBe('SUCCESS');
    const [[second], [, third]] = [await get(), await get()];
    const refused = [path, third.replace(/\/\d+\?/, `/${second}?`), '/_download/1', '/_download/x'];
    expect(await Promise.all(refused.map(async (one) => (await fetch(one)).status))).toEqual([401, 401, 401, 404]);
  });

  test('output that is not fetched in time is discarded, and the job fails', async () => {
    const { nas, client, fetch, get } = await open(0.001);
    const [job, path] = await get();
    await waitUntilHolds(() => nas.simulator.nas.downloads.size === 0, 'a minute of the world is over');
    expect((await fetch(path)).status).toBe(410);
    expect((await client.jobEnd(job)).state).toBe('FAILED');
  });

  test('a failed job gives a short download without an error; other methods are refused', async () => {
    const { client, fetch, get, reason } = await open();
    const [job, path] = await get('/mnt/tank/none');
    expect((await client.jobEnd(job)).error).toBe('[EFAULT] /mnt/tank/none is not a file');
    expect(await fetch(path)).toMatchObject({ status: 200, text: '' });
    expect(await reason('filesystem.get', '/mnt/tank/a')).toBe("Pipe 'output' is not open");
    expect((await client.ask('core.download', 'vm.query', [], 'a')).error?.code).toBe(-32001);
    expect((await client.ask('core.download', 'no.such', [], 'a')).error?.data.error).toBe(201);
  });
});
