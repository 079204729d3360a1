import { describe, expect, it } from 'vitest';
import { truenas } from '../../../src/platforms/truenas/index.ts';
import { provisionUpTo, testedReleases } from './baseline-run.ts';
import {
  dumpNas,
  type MachineRecord,
  nasFixture,
  startTrueNasPlatformFixture,
  TrueNasProviderProcess,
  toJsonText,
  useTrueNasPlatformFixture,
} from './true-nas-platform-fixture.ts';

useTrueNasPlatformFixture();

const ours = { installation: 'installation-1', provider: 'talos' };

/** The orphans when only the Machines of these names are known. */
async function findOrphans(known: readonly string[] = [], change: object = {}, mark = ours) {
  const context = new TrueNasProviderProcess().context('none', {}, change);
  return await truenas.garbage!.orphans!.find({
    ...context,
    failureDomain: undefined,
    instance: mark,
    isKnown: (name) => known.includes(name),
  });
}

async function provision(machine: string): Promise<MachineRecord> {
  const durable: MachineRecord = { progress: undefined };
  await new TrueNasProviderProcess().walk('provision', machine, durable);
  return durable;
}

const factOf = ({ progress }: MachineRecord, name: string): string => String(progress?.facts[name]);

describe.each(testedReleases)('on TrueNAS %s', (version) => {
  it('T47, S10: the remains of a missing Machine are found by its ownership mark, by three calls that change nothing', async () => {
    await startTrueNasPlatformFixture({ version });
    const [gone] = [await provision('shop-cp-0'), await provision('shop-cp-1')];
    const [vm, dataset] = [factOf(gone, 'vm'), factOf(gone, 'dataset')];
    const before = toJsonText(dumpNas());
    nasFixture.switchboard.calls.length = 0;
    expect(await findOrphans(['shop-cp-1'])).toEqual([
      {
        machine: 'shop-cp-0',
        resources: [`virtual machine ${vm} (RUNNING)`, `dataset ${dataset}`, `zvol ${dataset}/boot`],
        isRunning: true,
        facts: { system: gone.progress?.facts['system'], vm, dataset, joined: true, roots: factOf(gone, 'roots') },
      },
    ]);
    const asked = nasFixture.switchboard.calls.map(({ name }) => name).filter((name) => /\.query$/.test(name));
    expect(asked.sort()).toEqual(['pool.dataset.query', 'pool.query', 'vm.query']);
    expect(toJsonText(dumpNas())).toBe(before);
    nasFixture.switchboard.calls.length = 0;
    expect(await findOrphans(['shop-cp-0', 'shop-cp-1'])).toEqual([]);
    expect(nasFixture.switchboard.calls.filter(({ name }) => /\.query$/.test(name))).toHaveLength(2);
  });
});

describe('what remains of a missing Machine', () => {
  it.each([
    ['disk-created', ['dataset']],
    ['seed-written', ['dataset', 'zvol']],
    ['devices-attached', ['virtual', 'dataset', 'zvol']],
  ])('is found when its creation ended before %s', async (step, kinds) => {
    await startTrueNasPlatformFixture();
    await provisionUpTo(step);
    const [orphan] = await findOrphans();
    expect(orphan).toMatchObject({ machine: 'shop-cp-0', isRunning: false });
    expect(orphan?.resources.map((words) => words.split(' ')[0])).toEqual(kinds);
  });

  it('is found by the ownership mark of its dataset after a change of the description, and runs all the same', async () => {
    await startTrueNasPlatformFixture();
    const durable = await provision('shop-cp-0');
    const client = await nasFixture.login();
    await client.call('vm.update', durable.progress?.facts['vmId'] ?? 1, { description: 'do not touch' });
    expect(await findOrphans()).toMatchObject([{ machine: 'shop-cp-0', isRunning: true }]);
  });

  it('is not idle while the state of its virtual machine is unknown', async () => {
    await startTrueNasPlatformFixture();
    await provision('shop-cp-0');
    await nasFixture.simulator.powerOff(String([...nasFixture.simulator.nas.vms.values()][0]?.row['name']));
    expect(await findOrphans()).toMatchObject([{ isRunning: false }]);
    Object.assign(nasFixture.simulator.nas, { hasKvm: false });
    expect(await findOrphans()).toMatchObject([{ isRunning: true }]);
  });

  it('is an orphan of the ProviderConfig of its system, and of no other', async () => {
    await startTrueNasPlatformFixture();
    await provision('shop-cp-0');
    for (const datasetPrefix of ['other', 'talos/deeper']) expect(await findOrphans([], { datasetPrefix })).toEqual([]);
    const deeper = { datasetPrefix: 'talos/deeper' };
    const durable: MachineRecord = { progress: undefined };
    await new TrueNasProviderProcess().walk('provision', 'shop-cp-1', durable, deeper);
    expect(await findOrphans([], deeper)).toMatchObject([{ machine: 'shop-cp-1' }]);
    expect(await findOrphans()).toMatchObject([{ machine: 'shop-cp-0' }]);
  });

  it('is found as long as only its virtual machine exists', async () => {
    await startTrueNasPlatformFixture();
    const durable = await provision('shop-cp-0');
    await nasFixture.simulator.powerOff(factOf(durable, 'vm'));
    const client = await nasFixture.login();
    await client.call('pool.dataset.delete', factOf(durable, 'dataset'), { recursive: true });
    expect(await findOrphans()).toMatchObject([{ resources: [expect.stringContaining('virtual machine')] }]);
    expect(await findOrphans([], { datasetPrefix: 'other' })).toEqual([]);
  });
});

describe('a foreign object', () => {
  it.each([
    ['another installation', { ...ours, installation: 'installation-2' }],
    ['another provider', { ...ours, provider: 'other' }],
  ])('is no orphan: of %s, on the same system and under the same names of Machines', async (_, mark) => {
    await startTrueNasPlatformFixture();
    await provision('shop-cp-0');
    expect(await findOrphans([], {}, mark)).toEqual([]);
  });

  it('is no orphan: with one of our names and no ownership mark', async () => {
    await startTrueNasPlatformFixture();
    const durable = await provision('shop-cp-0');
    const [name, dataset] = [factOf(durable, 'vm'), factOf(durable, 'dataset')];
    await new TrueNasProviderProcess().walk('release', 'shop-cp-0', durable);
    const client = await nasFixture.login();
    await client.call('vm.create', { name, memory: 1024 });
    await client.call('pool.dataset.create', { name: dataset });
    expect(await findOrphans()).toEqual([]);
  });

  it('is no orphan: a virtual machine cloned from one of ours, with its description', async () => {
    await startTrueNasPlatformFixture();
    const durable = await provision('shop-cp-0');
    await nasFixture.simulator.powerOff(factOf(durable, 'vm'));
    const client = await nasFixture.login();
    const [{ id }] = await client.call('vm.query', [['name', '=', factOf(durable, 'vm')]]);
    await client.call('vm.clone', id, 'copy');
    expect(await findOrphans(['shop-cp-0'])).toEqual([]);
    const [orphan] = await findOrphans();
    expect(orphan?.resources.filter((words) => words.startsWith('virtual'))).toEqual([
      `virtual machine ${factOf(durable, 'vm')} (STOPPED)`,
    ]);
  });

  it('is ambiguous: a dataset with our ownership mark under another name, like a copy', async () => {
    const mark = { installation: 'installation-1', provider: 'talos', machine: 'shop-cp-0' };
    const userProperties = Object.fromEntries(
      Object.entries(mark).map(([key, value]) => [`openmcp.talos:${key}`, value]),
    );
    await startTrueNasPlatformFixture({
      seed: { datasets: [{ name: 'tank/talos' }, { name: 'tank/talos/copy', userProperties }] },
    });
    expect(await findOrphans()).toMatchObject([
      { machine: 'shop-cp-0', uncertainty: expect.stringMatching(/^tank\/talos\/copy has its mark/) },
    ]);
  });
});
