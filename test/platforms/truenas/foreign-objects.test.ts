import { describe, expect, it } from 'vitest';

import {
  dumpNas,
  dumpWithoutImageCache,
  type MachineRecord,
  nasFixture,
  startTrueNasPlatformFixture,
  stateSummary,
  stopTrueNasPlatformFixture,
  TrueNasProviderProcess,
  toJsonText,
  useTrueNasPlatformFixture,
} from './true-nas-platform-fixture.ts';

useTrueNasPlatformFixture();

describe('foreign objects', () => {
  it('T46: a VM of our name is rejected and stays unchanged, also on release', async () => {
    await startTrueNasPlatformFixture();
    const durable: MachineRecord = { progress: undefined };
    await new TrueNasProviderProcess().walk('provision', 'shop-cp-0', durable);
    const name = String(durable.progress?.facts['vm']);
    await new TrueNasProviderProcess().walk('release', 'shop-cp-0', durable);
    await stopTrueNasPlatformFixture();
    await startTrueNasPlatformFixture({
      seed: { vms: [{ name, row: { memory: 1024, description: 'mine' }, devices: [] }] },
    });
    const before = toJsonText(dumpNas().vms);
    const fresh: MachineRecord = { progress: undefined };
    expect(await new TrueNasProviderProcess().walk('provision', 'shop-cp-0', fresh)).toMatchObject({
      kind: 'failed',
      reason: 'OwnedByOthers',
      message: expect.stringContaining(name),
    });
    expect(toJsonText(dumpNas().vms)).toBe(before);
    expect(await new TrueNasProviderProcess().walk('release', 'shop-cp-0', fresh)).toMatchObject({ kind: 'finished' });
    expect(toJsonText(dumpNas().vms)).toBe(before);
    expect(stateSummary().datasets).not.toContainEqual(expect.stringContaining(name));
  });

  it('S24: a dataset of our name is rejected and stays unchanged, also on release', async () => {
    await startTrueNasPlatformFixture();
    const durable: MachineRecord = { progress: undefined };
    await new TrueNasProviderProcess().walk('provision', 'shop-cp-0', durable);
    const name = String(durable.progress?.facts['dataset']);
    await stopTrueNasPlatformFixture();
    const datasets = [{ name: 'tank/talos' }, { name }, { name: `${name}/boot`, volumeBytes: 2 ** 30 }];
    await startTrueNasPlatformFixture({ seed: { datasets } });
    const before = toJsonText(dumpWithoutImageCache().datasets);
    const fresh: MachineRecord = { progress: undefined };
    expect(await new TrueNasProviderProcess().walk('provision', 'shop-cp-0', fresh)).toMatchObject({
      kind: 'failed',
      reason: 'OwnedByOthers',
    });
    expect(await new TrueNasProviderProcess().walk('release', 'shop-cp-0', fresh)).toMatchObject({ kind: 'finished' });
    expect(toJsonText(dumpWithoutImageCache().datasets)).toBe(before);
  });

  it.each([
    ['disk', (dataset: string) => ({ dtype: 'DISK', path: `/dev/zvol/${dataset}/boot` })],
    ['seed', (_: string, seed: string) => ({ dtype: 'CDROM', path: seed })],
  ])(
    'S47: a %s of ours that a foreign VM uses is not destroyed, and that VM keeps running',
    async (_, attributesOf) => {
      await startTrueNasPlatformFixture();
      const durable: MachineRecord = { progress: undefined };
      await new TrueNasProviderProcess().walk('provision', 'shop-cp-0', durable);
      const [dataset, seed] = ['dataset', 'seed'].map((fact) => String(durable.progress?.facts[fact])) as [
        string,
        string,
      ];
      await nasFixture.simulator.powerOff(String(durable.progress?.facts['vm']));
      const client = await nasFixture.login();
      const other = await client.call('vm.create', { name: 'other', memory: 1024 });
      const attributes = attributesOf(dataset, seed);
      await client.call('vm.device.create', { vm: other.id, attributes });
      await client.call('vm.start', other.id);
      expect(await new TrueNasProviderProcess().walk('release', 'shop-cp-0', durable)).toMatchObject({
        kind: 'failed',
        reason: 'DatasetInUse',
      });
      expect(stateSummary().datasets).toEqual(expect.arrayContaining([dataset, `${dataset}/boot`]));
      expect((await client.call('vm.status', other.id)).state).toBe('RUNNING');
    },
  );

  it('our disk is deleted also below a dataset that is not ours any more, and that dataset stays', async () => {
    await startTrueNasPlatformFixture();
    const durable: MachineRecord = { progress: undefined };
    await new TrueNasProviderProcess().walk('provision', 'shop-cp-0', durable);
    const dataset = String(durable.progress?.facts['dataset']);
    const unmarked = ['installation', 'provider', 'machine'].map((name) => ({
      ...{ key: `openmcp.talos:${name}`, remove: true },
    }));
    const client = await nasFixture.login();
    await client.call('pool.dataset.update', dataset, { user_properties_update: unmarked, comments: 'mine' });
    expect(await new TrueNasProviderProcess().walk('release', 'shop-cp-0', durable)).toMatchObject({
      kind: 'finished',
    });
    expect(stateSummary().datasets.filter((id) => id.startsWith(dataset))).toEqual([dataset]);
  });

  it.each(['backup', 'disk-copy', 'deep/down'])(
    'a foreign %s below our dataset is not destroyed, and nothing else is deleted',
    async (below) => {
      await startTrueNasPlatformFixture();
      const durable: MachineRecord = { progress: undefined };
      await new TrueNasProviderProcess().walk('provision', 'shop-cp-0', durable);
      const client = await nasFixture.login();
      const name = `${durable.progress?.facts['dataset']}/${below}`;
      await client.call('pool.dataset.create', { name, create_ancestors: true });
      const before = stateSummary().datasets;
      expect(await new TrueNasProviderProcess().walk('release', 'shop-cp-0', durable)).toMatchObject({
        kind: 'failed',
        reason: 'DatasetInUse',
      });
      expect(stateSummary().datasets).toEqual(before);
    },
  );

  it('two installations with the same names coexist', async () => {
    await startTrueNasPlatformFixture();
    const [one, two] = [new TrueNasProviderProcess(), new TrueNasProviderProcess()];
    const context = two.context.bind(two);
    two.context = (machine, facts, change) => ({
      ...context(machine, facts, change),
      owner: { installation: 'installation-2', provider: 'talos', machine },
    });
    const [first, second]: [MachineRecord, MachineRecord] = [{ progress: undefined }, { progress: undefined }];
    await Promise.all([one.walk('provision', 'shop-cp-0', first), two.walk('provision', 'shop-cp-0', second)]);
    expect(nasFixture.simulator.nas.vms.size).toBe(2);
    const kept = toJsonText(nasFixture.simulator.nas.vms.get(Number(second.progress?.facts['vmId']))?.row);
    expect(await one.walk('release', 'shop-cp-0', first)).toMatchObject({ kind: 'finished' });
    expect(nasFixture.simulator.nas.vms.size).toBe(1);
    expect(toJsonText(nasFixture.simulator.nas.vms.get(Number(second.progress?.facts['vmId']))?.row)).toBe(kept);
  });
});
