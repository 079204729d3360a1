import { rename, rm } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { realPath } from '../truenas/storage.ts';
import { provisionUpTo } from './rehearsal.ts';
import { type Durable, dump, Process, room, shape, start, text, useScene, withoutCache } from './scene.ts';

useScene();

const factOf = ({ progress }: Durable, name: string) => String(progress?.facts[name]);
const removeFile = (path: string) => rm(realPath(room.room.nas, path));
const call = async (method: string, ...params: unknown[]) => (await room.login()).call(method, ...params);
const deleteDataset = (id: string) => call('pool.dataset.delete', id, { recursive: true });
const deleteVm = (durable: Durable, zvols = false) =>
  call('vm.delete', Number(durable.progress?.facts['vmId']), { zvols });
const folderOf = (path: string) => path.slice('/mnt/'.length, path.lastIndexOf('/'));

/** What somebody takes away. */
const losses: [string, (durable: Durable) => Promise<unknown>][] = [
  ['the virtual machine', (durable) => deleteVm(durable)],
  ['the virtual machine with its disk', (durable) => deleteVm(durable, true)],
  ['the disk', (durable) => deleteDataset(`${factOf(durable, 'dataset')}/boot`)],
  ['the dataset with all in it', (durable) => deleteDataset(factOf(durable, 'dataset'))],
  ['the seed', (durable) => removeFile(factOf(durable, 'seed'))],
  ['the cached image', (durable) => removeFile(factOf(durable, 'image'))],
  ['the dataset of the cached image', (durable) => deleteDataset(folderOf(factOf(durable, 'image')))],
];

describe.each(['devices-attached', 'devices-verified', 'powered-on'])('a machine that has come to %s', (step) => {
  it.each(losses)('T42, S48: goes back when %s is gone, and ends as any other', async (_, lose) => {
    await start();
    const before = text(withoutCache());
    const durable = await provisionUpTo(step);
    await lose(durable);
    const process = new Process();
    expect(await process.walk('provision', 'shop-cp-0', durable)).toMatchObject({ kind: 'finished' });
    expect(durable.progress?.facts).toMatchObject({ returns: 1 });
    expect(shape()).toMatchObject({ vms: [factOf(durable, 'vm')], devices: 4 });
    expect(room.runner.started.at(-1)).toMatchObject({ disks: [{}], cdroms: [{}, {}], nics: [{}] });
    expect(await process.walk('release', 'shop-cp-0', durable)).toMatchObject({ kind: 'finished' });
    expect(text(withoutCache())).toBe(before);
  });
});

describe('what goes back', () => {
  it.each(['disk-created', 'seed-written', 'vm-created'])(
    'leaves nothing beside the dataset that is gone when it comes to %s',
    async (step) => {
      await start();
      const before = text(withoutCache());
      const durable = await provisionUpTo(step);
      await deleteDataset(factOf(durable, 'dataset'));
      const process = new Process();
      expect(await process.walk('provision', 'shop-cp-0', durable)).toMatchObject({ kind: 'finished' });
      expect(await process.walk('release', 'shop-cp-0', durable)).toMatchObject({ kind: 'finished' });
      expect(text(withoutCache())).toBe(before);
    },
  );

  it('an image that another machine has had fetched anew is the one to boot from', async () => {
    await start();
    const durable = await provisionUpTo('devices-attached');
    const path = factOf(durable, 'image');
    const { text: reply } = await room.upload(path, 'something else', { mode: 0o644 });
    await (await room.login()).jobEnd(JSON.parse(reply).job_id);
    expect(await new Process().walk('provision', 'shop-cp-1', { progress: undefined })).toMatchObject({
      kind: 'finished',
    });
    expect(await new Process().walk('provision', 'shop-cp-0', durable)).toMatchObject({ kind: 'finished' });
  });

  it('a copy that broke where an image had been removed is made again', async () => {
    await start();
    const durable = await provisionUpTo('devices-attached');
    await removeFile(factOf(durable, 'image'));
    room.switchboard.fail('image-factory', /^GET/, { kind: 'cut', of: 'answer', bytes: 1000 });
    expect(await new Process().walk('provision', 'shop-cp-0', durable)).toMatchObject({ kind: 'finished' });
  });

  it('ends with a sentence when somebody deletes the machine again and again', async () => {
    await start();
    const durable: Durable = { progress: undefined };
    room.switchboard.onCall(({ name }) => {
      if (name === 'vm.device.create') void room.room.loseVm(factOf(durable, 'vm'));
    });
    const process = new Process();
    expect(await process.walk('provision', 'shop-cp-0', durable)).toMatchObject({
      kind: 'failed',
      reason: 'PartGone',
      message: expect.stringMatching(/^The virtual machine shop_cp_0_\w+ is gone\. .* 4 times .* delete the Machine/),
    });
    expect(await process.walk('release', 'shop-cp-0', durable)).toMatchObject({ kind: 'finished' });
  });

  it('is no member of a cluster', async () => {
    await start();
    const durable = await provisionUpTo('powered-on');
    durable.progress = { ...durable.progress!, facts: { ...durable.progress!.facts, joined: true } };
    await deleteDataset(factOf(durable, 'dataset'));
    const before = text(dump());
    expect(await new Process().walk('provision', 'shop-cp-0', durable)).toMatchObject({
      kind: 'failed',
      reason: 'PartGone',
      message: expect.stringContaining(factOf(durable, 'dataset')),
    });
    expect(text(dump())).toBe(before);
  });

  it('makes nothing where somebody has put something of theirs meanwhile', async () => {
    await start();
    const durable = await provisionUpTo('powered-on');
    await deleteVm(durable);
    await call('vm.create', { name: factOf(durable, 'vm'), memory: 1024 });
    const before = text(dump());
    expect(await new Process().walk('provision', 'shop-cp-0', durable)).toMatchObject({
      kind: 'failed',
      reason: 'OwnedByOthers',
    });
    expect(text(dump())).toBe(before);
  });

  it('waits where a dataset was locked: what lies in it is not gone', async () => {
    await start();
    const passphrase = 'correct horse';
    const options = { encryption: true, inherit_encryption: false, encryption_options: { passphrase } };
    await call('pool.dataset.create', { name: 'tank/talos', ...options });
    const durable = await provisionUpTo('powered-on');
    const client = await room.login();
    await client.job('pool.dataset.lock', 'tank/talos');
    // It is not mounted any more.
    const seed = realPath(room.room.nas, factOf(durable, 'seed'));
    await rename(seed, `${room.room.nas.folder}/hidden`);
    const before = text(dump());
    const process = new Process();
    expect(await process.walk('provision', 'shop-cp-0', durable)).toMatchObject({
      kind: 'failed',
      reason: 'TRUENAS_DATASET_LOCKED',
    });
    expect(text(dump())).toBe(before);
    await rename(`${room.room.nas.folder}/hidden`, seed);
    await client.job('pool.dataset.unlock', 'tank/talos', { datasets: [{ name: 'tank/talos', passphrase }] });
    expect(await process.walk('provision', 'shop-cp-0', durable)).toMatchObject({ kind: 'finished' });
    expect(durable.progress?.facts['returns']).toBeUndefined();
  });
});
