import { createHash } from 'node:crypto';
import { readFileSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { realPath } from '../../world/truenas/storage/dataset-files.ts';
import { provisionUpTo, testedReleases } from './baseline-run.ts';
import {
  imageDownloadCount,
  type MachineRecord,
  nasFixture,
  startTrueNasPlatformFixture,
  TrueNasProviderProcess,
  useTrueNasPlatformFixture,
} from './true-nas-platform-fixture.ts';

useTrueNasPlatformFixture();

const finishedVerdict = { kind: 'finished' };
const provision = (
  machine: string,
  process = new TrueNasProviderProcess(),
  durable: MachineRecord = { progress: undefined },
) => process.walk('provision', machine, durable);
const downloadCount = () => nasFixture.switchboard.calls.filter(({ name }) => name === 'GET /_download').length;

/** Creates a machine, and with it the image. Returns the image's real file. */
async function withImage(process = new TrueNasProviderProcess()): Promise<string> {
  const durable: MachineRecord = { progress: undefined };
  expect(await provision('shop-cp-0', process, durable)).toMatchObject(finishedVerdict);
  return realPath(nasFixture.simulator.nas, String(durable.progress?.facts['image']));
}

/** Replaces the bytes, with the same size and date. */
function exchangeBytes(file: string): void {
  const { atime, mtime } = statSync(file);
  const bytes = readFileSync(file);
  bytes.writeUInt8(bytes.readUInt8(40_000) ^ 1, 40_000);
  writeFileSync(file, bytes);
  utimesSync(file, atime, mtime);
}

const hashOf = (file: string) => createHash('sha256').update(readFileSync(file)).digest('hex');
const running = async () =>
  (await nasFixture.login()).call('vm.query', [['status.state', '=', 'RUNNING']], { count: true });

describe('a cached image', () => {
  it.each(testedReleases)(
    'T31, S25: of other bytes, of the same size and date, is downloaded again before the next boot from it, while other machines keep running: %s',
    async (version) => {
      await startTrueNasPlatformFixture({ version });
      const process = new TrueNasProviderProcess();
      const file = await withImage(process);
      const right = hashOf(file);
      // By a process that has read it before, and by one that has not.
      for (const [machine, by] of [
        ['shop-cp-1', process] as const,
        ['shop-cp-2', new TrueNasProviderProcess()] as const,
      ]) {
        exchangeBytes(file);
        let booted: string | undefined;
        const hush = nasFixture.switchboard.onCall(({ name }) => {
          if (name === 'vm.device.create') booted ??= hashOf(file);
        });
        expect(await provision(machine, by)).toMatchObject(finishedVerdict);
        hush();
        expect([booted, hashOf(file)]).toEqual([right, right]);
      }
      expect(await running()).toBe(3);
      expect(nasFixture.switchboard.calls.filter(({ name }) => /^vm\.(stop|poweroff)$/.test(name))).toEqual([]);
    },
  );

  it('T31: that is exchanged between the check and its use is not attached', async () => {
    await startTrueNasPlatformFixture();
    const durable = await provisionUpTo('devices-attached');
    const file = realPath(nasFixture.simulator.nas, String(durable.progress?.facts['image']));
    const right = hashOf(file);
    exchangeBytes(file);
    expect(await provision('shop-cp-0', new TrueNasProviderProcess(), durable)).toMatchObject(finishedVerdict);
    expect(hashOf(file)).toBe(right);
    expect(imageDownloadCount()).toBe(2);
  });

  it('T31: is read back once by each process, and again after a write or a change of its date', async () => {
    await startTrueNasPlatformFixture();
    const process = new TrueNasProviderProcess();
    const file = await withImage(process);
    await Promise.all(['shop-cp-1', 'shop-cp-2'].map((name) => provision(name, process)));
    expect(downloadCount()).toBe(1);
    expect(await provision('shop-cp-3')).toMatchObject(finishedVerdict);
    expect(downloadCount()).toBe(2);
    utimesSync(file, new Date(), new Date());
    expect(await provision('shop-cp-4', process)).toMatchObject(finishedVerdict);
    expect(downloadCount()).toBe(3);
    // The bytes are unchanged.
    expect(imageDownloadCount()).toBe(1);
  });

  it.each([
    [
      'a failed job that its reply does not report',
      () => nasFixture.simulator.failNextJob('filesystem.get', 'it broke'),
    ],
    [
      'a broken reply',
      () => nasFixture.switchboard.fail('truenas', /_download$/, { kind: 'cut', of: 'answer', bytes: 1000 }, 1),
    ],
    ['an invalid reply', () => nasFixture.switchboard.fail('truenas', /_download$/, { kind: 'error', status: 500 }, 1)],
  ])('T31, G9: is not confused with another one by %s', async (_, strike) => {
    await startTrueNasPlatformFixture();
    strike();
    expect(await provision('shop-cp-0')).toMatchObject(finishedVerdict);
    expect([downloadCount(), imageDownloadCount()]).toEqual([2, 1]);
  });

  it('T31: that changes again and again is left for manual repair, and used after the removal of its note', async () => {
    await startTrueNasPlatformFixture();
    const file = await withImage();
    exchangeBytes(file);
    // After each copy of the image.
    const hush = nasFixture.switchboard.onCall(({ name }) => {
      if (name.endsWith('.sha256')) exchangeBytes(file);
    });
    const durable: MachineRecord = { progress: undefined };
    expect(await provision('shop-cp-1', new TrueNasProviderProcess(), durable)).toMatchObject({
      kind: 'failed',
      reason: 'TRUENAS_IMAGE_CHANGED',
      message: expect.stringContaining(String(durable.progress?.facts['dataset']).replace(/\/[^/]+$/, '/images/')),
    });
    hush();
    const note = [{ key: 'openmcp.talos:size', remove: true }];
    const [dataset] = [...nasFixture.simulator.nas.datasets.keys()].filter((id) => /\/images\//.test(id));
    await (await nasFixture.login()).call('pool.dataset.update', dataset, { user_properties_update: note });
    expect(await provision('shop-cp-1', new TrueNasProviderProcess(), durable)).toMatchObject(finishedVerdict);
  });
});

describe('a downloaded image', () => {
  const noted = () =>
    [...nasFixture.simulator.nas.datasets.values()].filter(({ userProperties }) =>
      userProperties.has('openmcp.talos:size'),
    );

  it('T31: is compared with the hash that its factory promises, and not used when it differs', async () => {
    await startTrueNasPlatformFixture({ images: { checksums: true } });
    const wrong = { kind: 'error', status: 200, body: `${'0'.repeat(64)}  nocloud-amd64.iso\n` } as const;
    nasFixture.switchboard.fail('image-factory', /\.sha256$/, wrong, 1);
    const durable: MachineRecord = { progress: undefined };
    expect(await provision('shop-cp-0', new TrueNasProviderProcess(), durable)).toMatchObject({
      kind: 'failed',
      reason: 'FACTORY_CHECKSUM_DIFFERS',
      message: expect.stringContaining('0'.repeat(64)),
    });
    expect(noted()).toEqual([]);
    expect(await provision('shop-cp-0', new TrueNasProviderProcess(), durable)).toMatchObject(finishedVerdict);
    expect(noted()).toHaveLength(1);
  });

  it.each([402, 404])('T31: is accepted from a factory that promises none and answers %i', async (status) => {
    await startTrueNasPlatformFixture();
    nasFixture.switchboard.fail('image-factory', /\.sha256$/, { kind: 'error', status }, 1);
    expect(await provision('shop-cp-0')).toMatchObject(finishedVerdict);
    expect(imageDownloadCount()).toBe(1);
  });

  it('T31: is not accepted from a factory that fails to answer, and is after an answer', async () => {
    await startTrueNasPlatformFixture();
    nasFixture.switchboard.fail('image-factory', /\.sha256$/, { kind: 'error', status: 500 }, 1);
    expect(await provision('shop-cp-0')).toMatchObject(finishedVerdict);
    expect(imageDownloadCount()).toBe(2);
  });

  it('T30: is rejected when it is larger than 2 GiB, before a byte of it is written', async () => {
    await startTrueNasPlatformFixture();
    const headers = { 'content-length': String(2 * 2 ** 30 + 1) };
    nasFixture.switchboard.fail('image-factory', /\.iso$/, { kind: 'error', status: 200, body: 'x', headers }, 1);
    expect(await provision('shop-cp-0')).toMatchObject({
      kind: 'failed',
      reason: 'FACTORY_IMAGE_TOO_LARGE',
      message: expect.stringContaining('2147483649'),
    });
    expect(nasFixture.switchboard.calls.filter(({ name }) => name === 'POST /_upload')).toEqual([]);
  });
});
