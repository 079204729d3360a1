import { describe, expect, it } from 'vitest';

import { type Durable, dump, end, Process, room, shape, start, text, useScene, withoutCache } from './scene.ts';

useScene();

describe('what belongs to others', () => {
  it('T46: a VM of our name is refused and stays as it is, also on release', async () => {
    await start();
    const durable: Durable = { progress: undefined };
    await new Process().walk('provision', 'shop-cp-0', durable);
    const name = String(durable.progress?.facts['vm']);
    await new Process().walk('release', 'shop-cp-0', durable);
    await end();
    await start({ seed: { vms: [{ name, row: { memory: 1024, description: 'mine' }, devices: [] }] } });
    const before = text(dump().vms);
    const fresh: Durable = { progress: undefined };
    expect(await new Process().walk('provision', 'shop-cp-0', fresh)).toMatchObject({
      kind: 'failed',
      reason: 'OwnedByOthers',
      message: expect.stringContaining(name),
    });
    expect(text(dump().vms)).toBe(before);
    expect(await new Process().walk('release', 'shop-cp-0', fresh)).toMatchObject({ kind: 'finished' });
    expect(text(dump().vms)).toBe(before);
    expect(shape().datasets).not.toContainEqual(expect.stringContaining(name));
  });

  it('S24: a dataset of our name is refused and stays as it is, also on release', async () => {
    await start();
    const durable: Durable = { progress: undefined };
    await new Process().walk('provision', 'shop-cp-0', durable);
    const name = String(durable.progress?.facts['dataset']);
    await end();
    const datasets = [{ name: 'tank/talos' }, { name }, { name: `${name}/boot`, volumeBytes: 2 ** 30 }];
    await start({ seed: { datasets } });
    const before = text(withoutCache().datasets);
    const fresh: Durable = { progress: undefined };
    expect(await new Process().walk('provision', 'shop-cp-0', fresh)).toMatchObject({
      kind: 'failed',
      reason: 'OwnedByOthers',
    });
    expect(await new Process().walk('release', 'shop-cp-0', fresh)).toMatchObject({ kind: 'finished' });
    expect(text(withoutCache().datasets)).toBe(before);
  });

  it.each([
    ['disk', (dataset: string) => ({ dtype: 'DISK', path: `/dev/zvol/${dataset}/boot` })],
    ['seed', (_: string, seed: string) => ({ dtype: 'CDROM', path: seed })],
  ])(
    'S47: a %s of ours that somebody uses in another VM is not destroyed, and that VM runs on',
    async (_, attributesOf) => {
      await start();
      const durable: Durable = { progress: undefined };
      await new Process().walk('provision', 'shop-cp-0', durable);
      const [dataset, seed] = ['dataset', 'seed'].map((fact) => String(durable.progress?.facts[fact])) as [
        string,
        string,
      ];
      await room.room.powerOff(String(durable.progress?.facts['vm']));
      const client = await room.login();
      const other = await client.call('vm.create', { name: 'other', memory: 1024 });
      const attributes = attributesOf(dataset, seed);
      await client.call('vm.device.create', { vm: other.id, attributes });
      await client.call('vm.start', other.id);
      expect(await new Process().walk('release', 'shop-cp-0', durable)).toMatchObject({
        kind: 'failed',
        reason: 'DatasetInUse',
      });
      expect(shape().datasets).toEqual(expect.arrayContaining([dataset, `${dataset}/boot`]));
      expect((await client.call('vm.status', other.id)).state).toBe('RUNNING');
    },
  );

  it('our disk goes also where the dataset around it is not ours any more, and that stays', async () => {
    await start();
    const durable: Durable = { progress: undefined };
    await new Process().walk('provision', 'shop-cp-0', durable);
    const dataset = String(durable.progress?.facts['dataset']);
    const unmarked = ['installation', 'provider', 'machine'].map((name) => ({
      ...{ key: `openmcp.talos:${name}`, remove: true },
    }));
    const client = await room.login();
    await client.call('pool.dataset.update', dataset, { user_properties_update: unmarked, comments: 'mine' });
    expect(await new Process().walk('release', 'shop-cp-0', durable)).toMatchObject({ kind: 'finished' });
    expect(shape().datasets.filter((id) => id.startsWith(dataset))).toEqual([dataset]);
  });

  it.each(['backup', 'disk-copy', 'deep/down'])(
    '%s, which somebody put below our dataset, is not destroyed, and nothing else goes',
    async (below) => {
      await start();
      const durable: Durable = { progress: undefined };
      await new Process().walk('provision', 'shop-cp-0', durable);
      const client = await room.login();
      const name = `${durable.progress?.facts['dataset']}/${below}`;
      await client.call('pool.dataset.create', { name, create_ancestors: true });
      const before = shape().datasets;
      expect(await new Process().walk('release', 'shop-cp-0', durable)).toMatchObject({
        kind: 'failed',
        reason: 'DatasetInUse',
      });
      expect(shape().datasets).toEqual(before);
    },
  );

  it('two installations with the same names live side by side', async () => {
    await start();
    const [one, two] = [new Process(), new Process()];
    const context = two.context.bind(two);
    two.context = (machine, facts, change) => ({
      ...context(machine, facts, change),
      owner: { installation: 'installation-2', provider: 'talos', machine },
    });
    const [first, second]: [Durable, Durable] = [{ progress: undefined }, { progress: undefined }];
    await Promise.all([one.walk('provision', 'shop-cp-0', first), two.walk('provision', 'shop-cp-0', second)]);
    expect(room.room.nas.vms.size).toBe(2);
    const kept = text(room.room.nas.vms.get(Number(second.progress?.facts['vmId']))?.row);
    expect(await one.walk('release', 'shop-cp-0', first)).toMatchObject({ kind: 'finished' });
    expect(room.room.nas.vms.size).toBe(1);
    expect(text(room.room.nas.vms.get(Number(second.progress?.facts['vmId']))?.row)).toBe(kept);
  });
});
