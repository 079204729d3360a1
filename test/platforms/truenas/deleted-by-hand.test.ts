import { rename, rm } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { realPath } from '../../world/truenas/storage/dataset-files.ts';
import { provisionUpTo } from './baseline-run.ts';
import {
  dumpNas,
  dumpWithoutImageCache,
  type MachineRecord,
  nasFixture,
  startTrueNasPlatformFixture,
  stateSummary,
  TrueNasProviderProcess,
  toJsonText,
  useTrueNasPlatformFixture,
} from './true-nas-platform-fixture.ts';

useTrueNasPlatformFixture();

const factOf = ({ progress }: MachineRecord, name: string) => String(progress?.facts[name]);
const removeFile = (path: string) => rm(realPath(nasFixture.simulator.nas, path));
const call = async (method: string, ...params: unknown[]) => (await nasFixture.login()).call(method, ...params);
const deleteDataset = (id: string) => call('pool.dataset.delete', id, { recursive: true });
const deleteVm = (durable: MachineRecord, zvols = false) =>
  call('vm.delete', Number(durable.progress?.facts['vmId']), { zvols });
const folderOf = (path: string) => path.slice('/mnt/'.length, path.lastIndexOf('/'));

/** Objects that are deleted by hand. */
const losses: [string, (durable: MachineRecord) => Promise<unknown>][] = [
  ['the virtual machine', (durable) => deleteVm(durable)],
  ['the virtual machine with its disk', (durable) => deleteVm(durable, true)],
  ['the disk', (durable) => deleteDataset(`${factOf(durable, 'dataset')}/boot`)],
  ['the dataset with all its content', (durable) => deleteDataset(factOf(durable, 'dataset'))],
  ['the seed', (durable) => removeFile(factOf(durable, 'seed'))],
  ['the cached image', (durable) => removeFile(factOf(durable, 'image'))],
  ['the dataset of the cached image', (durable) => deleteDataset(folderOf(factOf(durable, 'image')))],
];

describe.each(['devices-attached', 'devices-verified', 'powered-on'])('a machine that has reached %s', (step) => {
  it.each(losses)('T42, S48: returns to an earlier step when %s is gone, and becomes ready', async (_, lose) => {
    await startTrueNasPlatformFixture();
    const before = toJsonText(dumpWithoutImageCache());
    const durable = await provisionUpTo(step);
    await lose(durable);
    const process = new TrueNasProviderProcess();
    expect(await process.walk('provision', 'shop-cp-0', durable)).toMatchObject({ kind: 'finished' });
    expect(durable.progress?.facts).toMatchObject({ returns: 1 });
    expect(stateSummary()).toMatchObject({ vms: [factOf(durable, 'vm')], devices: 4 });
    expect(nasFixture.runner.started.at(-1)).toMatchObject({ disks: [{}], cdroms: [{}, {}], nics: [{}] });
    expect(await process.walk('release', 'shop-cp-0', durable)).toMatchObject({ kind: 'finished' });
    expect(toJsonText(dumpWithoutImageCache())).toBe(before);
  });
});

describe('a return to an earlier step', () => {
  it.each(['disk-created', 'seed-written', 'vm-created'])(
    'leaves no remains beside the dataset that is gone when it reaches %s',
    async (step) => {
      await startTrueNasPlatformFixture();
      const before = toJsonText(dumpWithoutImageCache());
      const durable = await provisionUpTo(step);
      await deleteDataset(factOf(durable, 'dataset'));
      const process = new TrueNasProviderProcess();
      expect(await process.walk('provision', 'shop-cp-0', durable)).toMatchObject({ kind: 'finished' });
      expect(await process.walk('release', 'shop-cp-0', durable)).toMatchObject({ kind: 'finished' });
      expect(toJsonText(dumpWithoutImageCache())).toBe(before);
    },
  );

  it('boots from the image that another machine has downloaded again', async () => {
    await startTrueNasPlatformFixture();
    const durable = await provisionUpTo('devices-attached');
    const path = factOf(durable, 'image');
    const { text: reply } = await nasFixture.upload(path, 'something else', { mode: 0o644 });
    await (await nasFixture.login()).jobEnd(JSON.parse(reply).job_id);
    expect(await new TrueNasProviderProcess().walk('provision', 'shop-cp-1', { progress: undefined })).toMatchObject({
      kind: 'finished',
    });
    expect(await new TrueNasProviderProcess().walk('provision', 'shop-cp-0', durable)).toMatchObject({
      kind: 'finished',
    });
  });

  it('repeats an aborted copy in place of a deleted image', async () => {
    await startTrueNasPlatformFixture();
    const durable = await provisionUpTo('devices-attached');
    await removeFile(factOf(durable, 'image'));
    nasFixture.switchboard.fail('image-factory', /^GET/, { kind: 'cut', of: 'answer', bytes: 1000 });
    expect(await new TrueNasProviderProcess().walk('provision', 'shop-cp-0', durable)).toMatchObject({
      kind: 'finished',
    });
  });

  it('ends with a message after repeated deletions of the machine', async () => {
    await startTrueNasPlatformFixture();
    const durable: MachineRecord = { progress: undefined };
    nasFixture.switchboard.onCall(({ name }) => {
      if (name === 'vm.device.create') void nasFixture.simulator.loseVm(factOf(durable, 'vm'));
    });
    const process = new TrueNasProviderProcess();
    expect(await process.walk('provision', 'shop-cp-0', durable)).toMatchObject({
      kind: 'failed',
      reason: 'PartGone',
      message: expect.stringMatching(
        /^The virtual machine shop_cp_0_\w+ no longer exists\. .* 4 times .* delete the Machine/,
      ),
    });
    expect(await process.walk('release', 'shop-cp-0', durable)).toMatchObject({ kind: 'finished' });
  });

  it('does not happen to a member of a cluster', async () => {
    await startTrueNasPlatformFixture();
    const durable = await provisionUpTo('powered-on');
    durable.progress = { ...durable.progress!, facts: { ...durable.progress!.facts, joined: true } };
    await deleteDataset(factOf(durable, 'dataset'));
    const before = toJsonText(dumpNas());
    expect(await new TrueNasProviderProcess().walk('provision', 'shop-cp-0', durable)).toMatchObject({
      kind: 'failed',
      reason: 'PartGone',
      message: expect.stringContaining(factOf(durable, 'dataset')),
    });
    expect(toJsonText(dumpNas())).toBe(before);
  });

  it('creates nothing in place of a foreign object', async () => {
    await startTrueNasPlatformFixture();
    const durable = await provisionUpTo('powered-on');
    await deleteVm(durable);
    await call('vm.create', { name: factOf(durable, 'vm'), memory: 1024 });
    const before = toJsonText(dumpNas());
    expect(await new TrueNasProviderProcess().walk('provision', 'shop-cp-0', durable)).toMatchObject({
      kind: 'failed',
      reason: 'OwnedByOthers',
    });
    expect(toJsonText(dumpNas())).toBe(before);
  });

  it('waits while a dataset is locked: its content is not gone', async () => {
    await startTrueNasPlatformFixture();
    const passphrase = 'correct horse';
    const options = { encryption: true, inherit_encryption: false, encryption_options: { passphrase } };
    await call('pool.dataset.create', { name: 'tank/talos', ...options });
    const durable = await provisionUpTo('powered-on');
    const client = await nasFixture.login();
    await client.job('pool.dataset.lock', 'tank/talos');
    // The dataset is not mounted any more.
    const seed = realPath(nasFixture.simulator.nas, factOf(durable, 'seed'));
    await rename(seed, `${nasFixture.simulator.nas.folder}/hidden`);
    const before = toJsonText(dumpNas());
    const process = new TrueNasProviderProcess();
    expect(await process.walk('provision', 'shop-cp-0', durable)).toMatchObject({
      kind: 'failed',
      reason: 'TRUENAS_DATASET_LOCKED',
    });
    expect(toJsonText(dumpNas())).toBe(before);
    await rename(`${nasFixture.simulator.nas.folder}/hidden`, seed);
    await client.job('pool.dataset.unlock', 'tank/talos', { datasets: [{ name: 'tank/talos', passphrase }] });
    expect(await process.walk('provision', 'shop-cp-0', durable)).toMatchObject({ kind: 'finished' });
    expect(durable.progress?.facts['returns']).toBeUndefined();
  });
});
