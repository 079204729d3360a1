import { createHash } from 'node:crypto';
import { readFileSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { realPath } from '../truenas/storage.ts';
import { provisionUpTo, versions } from './rehearsal.ts';
import { type Durable, downloads, Process, room, start, useScene } from './scene.ts';

useScene();

const made = { kind: 'finished' };
const provision = (machine: string, process = new Process(), durable: Durable = { progress: undefined }) =>
  process.walk('provision', machine, durable);
const readBack = () => room.switchboard.calls.filter(({ name }) => name === 'GET /_download').length;

/** Makes a machine, and with it the image. Gives the image's real file. */
async function withImage(process = new Process()): Promise<string> {
  const durable: Durable = { progress: undefined };
  expect(await provision('shop-cp-0', process, durable)).toMatchObject(made);
  return realPath(room.room.nas, String(durable.progress?.facts['image']));
}

/** Other bytes, as many, and under the same date. */
function tamper(file: string): void {
  const { atime, mtime } = statSync(file);
  const bytes = readFileSync(file);
  bytes.writeUInt8(bytes.readUInt8(40_000) ^ 1, 40_000);
  writeFileSync(file, bytes);
  utimesSync(file, atime, mtime);
}

const hashOf = (file: string) => createHash('sha256').update(readFileSync(file)).digest('hex');
const running = async () => (await room.login()).call('vm.query', [['status.state', '=', 'RUNNING']], { count: true });

describe('a cached image', () => {
  it.each(versions)(
    'T31, S25: of other bytes, of the same size and date, is fetched anew before anybody boots from it, while others run on: %s',
    async (version) => {
      await start({ version });
      const process = new Process();
      const file = await withImage(process);
      const right = hashOf(file);
      // By a process that has read it, and by one that has not.
      for (const [machine, by] of [['shop-cp-1', process] as const, ['shop-cp-2', new Process()] as const]) {
        tamper(file);
        let booted: string | undefined;
        const hush = room.switchboard.onCall(({ name }) => {
          if (name === 'vm.device.create') booted ??= hashOf(file);
        });
        expect(await provision(machine, by)).toMatchObject(made);
        hush();
        expect([booted, hashOf(file)]).toEqual([right, right]);
      }
      expect(await running()).toBe(3);
      expect(room.switchboard.calls.filter(({ name }) => /^vm\.(stop|poweroff)$/.test(name))).toEqual([]);
    },
  );

  it('T31: that is exchanged between that look and its use is not attached', async () => {
    await start();
    const durable = await provisionUpTo('devices-attached');
    const file = realPath(room.room.nas, String(durable.progress?.facts['image']));
    const right = hashOf(file);
    tamper(file);
    expect(await provision('shop-cp-0', new Process(), durable)).toMatchObject(made);
    expect(hashOf(file)).toBe(right);
    expect(downloads()).toBe(2);
  });

  it('T31: is read back once by each process, and again when somebody has written to it or given it a date', async () => {
    await start();
    const process = new Process();
    const file = await withImage(process);
    await Promise.all(['shop-cp-1', 'shop-cp-2'].map((name) => provision(name, process)));
    expect(readBack()).toBe(1);
    expect(await provision('shop-cp-3')).toMatchObject(made);
    expect(readBack()).toBe(2);
    utimesSync(file, new Date(), new Date());
    expect(await provision('shop-cp-4', process)).toMatchObject(made);
    expect(readBack()).toBe(3);
    // It is what it was.
    expect(downloads()).toBe(1);
  });

  it.each([
    ['a job that fails, of which the reply knows nothing', () => room.room.failNextJob('filesystem.get', 'it broke')],
    [
      'a reply that breaks',
      () => room.switchboard.fail('truenas', /_download$/, { kind: 'cut', of: 'answer', bytes: 1000 }, 1),
    ],
    ['a reply that is none', () => room.switchboard.fail('truenas', /_download$/, { kind: 'error', status: 500 }, 1)],
  ])('T31, G9: is not taken for another one by %s', async (_, strike) => {
    await start();
    strike();
    expect(await provision('shop-cp-0')).toMatchObject(made);
    expect([readBack(), downloads()]).toEqual([2, 1]);
  });

  it('T31: that somebody changes again and again is left to people, and taken up when its note is off', async () => {
    await start();
    const file = await withImage();
    tamper(file);
    // Whenever one has arrived.
    const hush = room.switchboard.onCall(({ name }) => {
      if (name.endsWith('.sha256')) tamper(file);
    });
    const durable: Durable = { progress: undefined };
    expect(await provision('shop-cp-1', new Process(), durable)).toMatchObject({
      kind: 'failed',
      reason: 'TRUENAS_IMAGE_CHANGED',
      message: expect.stringContaining(String(durable.progress?.facts['dataset']).replace(/\/[^/]+$/, '/images/')),
    });
    hush();
    const note = [{ key: 'openmcp.talos:size', remove: true }];
    const [dataset] = [...room.room.nas.datasets.keys()].filter((id) => /\/images\//.test(id));
    await (await room.login()).call('pool.dataset.update', dataset, { user_properties_update: note });
    expect(await provision('shop-cp-1', new Process(), durable)).toMatchObject(made);
  });
});

describe('an image that arrives', () => {
  const noted = () =>
    [...room.room.nas.datasets.values()].filter(({ userProperties }) => userProperties.has('openmcp.talos:size'));

  it('T31: is compared with the hash that its factory promises, and not used when it is another', async () => {
    await start({ images: { checksums: true } });
    const wrong = { kind: 'error', status: 200, body: `${'0'.repeat(64)}  nocloud-amd64.iso\n` } as const;
    room.switchboard.fail('image-factory', /\.sha256$/, wrong, 1);
    const durable: Durable = { progress: undefined };
    expect(await provision('shop-cp-0', new Process(), durable)).toMatchObject({
      kind: 'failed',
      reason: 'FACTORY_CHECKSUM_DIFFERS',
      message: expect.stringContaining('0'.repeat(64)),
    });
    expect(noted()).toEqual([]);
    expect(await provision('shop-cp-0', new Process(), durable)).toMatchObject(made);
    expect(noted()).toHaveLength(1);
  });

  it.each([402, 404])('T31: is taken from a factory that promises none and answers %i', async (status) => {
    await start();
    room.switchboard.fail('image-factory', /\.sha256$/, { kind: 'error', status }, 1);
    expect(await provision('shop-cp-0')).toMatchObject(made);
    expect(downloads()).toBe(1);
  });

  it('T31: is not taken from a factory that fails to say what it promises, and is when it says so', async () => {
    await start();
    room.switchboard.fail('image-factory', /\.sha256$/, { kind: 'error', status: 500 }, 1);
    expect(await provision('shop-cp-0')).toMatchObject(made);
    expect(downloads()).toBe(2);
  });

  it('T30: is refused when it is larger than 2 GiB, before a byte of it is written', async () => {
    await start();
    const headers = { 'content-length': String(2 * 2 ** 30 + 1) };
    room.switchboard.fail('image-factory', /\.iso$/, { kind: 'error', status: 200, body: 'x', headers }, 1);
    expect(await provision('shop-cp-0')).toMatchObject({
      kind: 'failed',
      reason: 'FACTORY_IMAGE_TOO_LARGE',
      message: expect.stringContaining('2147483649'),
    });
    expect(room.switchboard.calls.filter(({ name }) => name === 'POST /_upload')).toEqual([]);
  });
});
