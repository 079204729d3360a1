import { Agent, request } from 'undici';
import { afterEach, describe, expect, test } from 'vitest';
import {
  type RawClient,
  startTrueNasFixture,
  type TrueNasFixture,
  waitUntilHolds,
} from '../testing/true-nas-fixture.ts';

let nas: TrueNasFixture;
let client: RawClient;
let agent: Agent;
const content = 'content of a file. '.repeat(20_000);

/** A clock so slow that no client is too late. */
async function open(scale = 0.1) {
  const files = [{ path: '/mnt/tank/files/a', content }];
  nas = await startTrueNasFixture({ scale, seed: { datasets: [{ name: 'tank/files' }], files } });
  client = await nas.login();
  agent = new Agent({ connect: { ca: nas.ca } });
}
afterEach(async () => {
  await agent.close();
  await nas.close();
});

async function fetch(path: string) {
  const url = new URL(path, nas.room.line.url.replace('wss:', 'https:'));
  const { statusCode, headers, body } = await request(url, { dispatcher: agent });
  return { status: statusCode, headers, text: await body.text() };
}

describe('/_download', () => {
  test('sends the output of a job, and the job ends with it', async () => {
    await open();
    const [job, path] = await client.call('core.download', 'filesystem.get', ['/mnt/tank/files/a'], 'a.txt');
    expect(path).toMatch(new RegExp(`^/_download/${job}\\?auth_token=`));
    expect((await client.call('core.get_jobs', [['id', '=', job]]))[0].state).toBe('RUNNING');
    const { status, headers, text } = await fetch(path);
    expect({ status, length: text.length }).toEqual({ status: 200, length: content.length });
    expect(headers['content-disposition']).toBe('attachment; filename="a.txt"');
    expect((await client.jobEnd(job)).state).toBe('SUCCESS');
  });

  test('works once, with the token that came with it', async () => {
    await open();
    const get = () => client.call('core.download', 'filesystem.get', ['/mnt/tank/files/a'], 'a');
    const [, first] = await get();
    expect((await fetch(first)).status).toBe(200);
    expect((await fetch(first)).status).toBe(401);
    const [second] = await get();
    const [, third] = await get();
    expect((await fetch(third.replace(/\/\d+\?/, `/${second}?`))).status).toBe(401);
    expect((await fetch('/_download/1')).status).toBe(401);
    expect((await fetch('/_download/x')).status).toBe(404);
  });

  test('output that is not fetched in time is discarded, and the job fails', async () => {
    await open(0.001);
    const [job, path] = await client.call('core.download', 'filesystem.get', ['/mnt/tank/files/a'], 'a');
    await waitUntilHolds(() => nas.room.nas.downloads.size === 0, 'a minute of the world is over');
    expect((await fetch(path)).status).toBe(410);
    expect((await client.jobEnd(job)).state).toBe('FAILED');
  });

  test('a failed job gives a short download without an error', async () => {
    await open();
    const [job, path] = await client.call('core.download', 'filesystem.get', ['/mnt/tank/files/none'], 'a');
    expect((await client.jobEnd(job)).error).toBe('[EFAULT] /mnt/tank/files/none is not a file');
    expect(await fetch(path)).toMatchObject({ status: 200, text: '' });
  });

  test('only jobs with output can be downloaded, and they cannot be called otherwise', async () => {
    await open();
    const direct = await client.ask('filesystem.get', '/mnt/tank/files/a');
    expect(direct.error?.data.reason).toBe("Pipe 'output' is not open");
    expect((await client.ask('core.download', 'vm.query', [], 'a')).error?.code).toBe(-32001);
    expect((await client.ask('core.download', 'no.such', [], 'a')).error?.data.error).toBe(201);
    const [, path] = await client.call('core.download', 'config.save', [], 'config', true);
    expect(JSON.parse((await fetch(path)).text)).toEqual({ vms: [], devices: [] });
  });

  test('can be cut short and interrupted like any call', async () => {
    await open();
    const get = async () => (await client.call('core.download', 'filesystem.get', ['/mnt/tank/files/a'], 'a'))[1];
    nas.switchboard.fail('truenas', /^GET \/_download$/, { kind: 'cut', of: 'answer', bytes: 1000 });
    await expect(fetch(await get())).rejects.toThrow();
    nas.switchboard.fail('truenas', /^GET \/_download$/, { kind: 'error', status: 503 });
    expect((await fetch(await get())).status).toBe(503);
    nas.switchboard.fail('truenas', /^GET \/_download$/, { kind: 'drop' });
    await expect(fetch(await get())).rejects.toThrow();
  });
});
