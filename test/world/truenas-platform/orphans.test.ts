import { describe, expect, it } from 'vitest';
import { truenas } from '../../../src/platforms/truenas/index.ts';
import { provisionUpTo, versions } from './rehearsal.ts';
import { type Durable, dump, Process, room, start, text, useScene } from './scene.ts';

useScene();

const ours = { installation: 'installation-1', provider: 'talos' };

/** What is left when only the Machines of these names are known. */
async function find(known: readonly string[] = [], change: object = {}, mark = ours) {
  const context = new Process().context('none', {}, change);
  return await truenas.orphans!.find({
    ...context,
    site: undefined,
    ours: mark,
    isKnown: (name) => known.includes(name),
  });
}

async function provision(machine: string): Promise<Durable> {
  const durable: Durable = { progress: undefined };
  await new Process().walk('provision', machine, durable);
  return durable;
}

const factOf = ({ progress }: Durable, name: string): string => String(progress?.facts[name]);

describe.each(versions)('on TrueNAS %s', (version) => {
  it('T47, S10: what is left of a Machine that does not exist is found by its mark, by three calls that change nothing', async () => {
    await start({ version });
    const [gone] = [await provision('shop-cp-0'), await provision('shop-cp-1')];
    const [vm, dataset] = [factOf(gone, 'vm'), factOf(gone, 'dataset')];
    const before = text(dump());
    room.switchboard.calls.length = 0;
    expect(await find(['shop-cp-1'])).toEqual([
      {
        machine: 'shop-cp-0',
        what: [`virtual machine ${vm} (RUNNING)`, `dataset ${dataset}`, `zvol ${dataset}/boot`],
        runs: true,
        facts: { system: gone.progress?.facts['system'], vm, dataset, joined: true, roots: factOf(gone, 'roots') },
      },
    ]);
    const asked = room.switchboard.calls.map(({ name }) => name).filter((name) => /\.query$/.test(name));
    expect(asked.sort()).toEqual(['pool.dataset.query', 'pool.query', 'vm.query']);
    expect(text(dump())).toBe(before);
    room.switchboard.calls.length = 0;
    expect(await find(['shop-cp-0', 'shop-cp-1'])).toEqual([]);
    expect(room.switchboard.calls.filter(({ name }) => /\.query$/.test(name))).toHaveLength(2);
  });
});

describe('what is left of a Machine', () => {
  it.each([
    ['disk-created', ['dataset']],
    ['seed-written', ['dataset', 'zvol']],
    ['devices-attached', ['virtual', 'dataset', 'zvol']],
  ])('is found when its making ended before %s', async (step, kinds) => {
    await start();
    await provisionUpTo(step);
    const [orphan] = await find();
    expect(orphan).toMatchObject({ machine: 'shop-cp-0', runs: false });
    expect(orphan?.what.map((words) => words.split(' ')[0])).toEqual(kinds);
  });

  it('is found by the mark of its dataset when somebody wrote another description, and runs all the same', async () => {
    await start();
    const durable = await provision('shop-cp-0');
    const client = await room.login();
    await client.call('vm.update', durable.progress?.facts['vmId'] ?? 1, { description: 'do not touch' });
    expect(await find()).toMatchObject([{ machine: 'shop-cp-0', runs: true }]);
  });

  it('does not rest while nobody can tell the state of its virtual machine', async () => {
    await start();
    await provision('shop-cp-0');
    await room.room.powerOff(String([...room.room.nas.vms.values()][0]?.row['name']));
    expect(await find()).toMatchObject([{ runs: false }]);
    Object.assign(room.room.nas, { hasKvm: false });
    expect(await find()).toMatchObject([{ runs: true }]);
  });

  it('is an orphan of the ProviderConfig whose machines are kept there, and of no other', async () => {
    await start();
    await provision('shop-cp-0');
    for (const datasetPrefix of ['other', 'talos/deeper']) expect(await find([], { datasetPrefix })).toEqual([]);
    const deeper = { datasetPrefix: 'talos/deeper' };
    const durable: Durable = { progress: undefined };
    await new Process().walk('provision', 'shop-cp-1', durable, deeper);
    expect(await find([], deeper)).toMatchObject([{ machine: 'shop-cp-1' }]);
    expect(await find()).toMatchObject([{ machine: 'shop-cp-0' }]);
  });

  it('is found as long as only its virtual machine is there', async () => {
    await start();
    const durable = await provision('shop-cp-0');
    await room.room.powerOff(factOf(durable, 'vm'));
    const client = await room.login();
    await client.call('pool.dataset.delete', factOf(durable, 'dataset'), { recursive: true });
    expect(await find()).toMatchObject([{ what: [expect.stringContaining('virtual machine')] }]);
    expect(await find([], { datasetPrefix: 'other' })).toEqual([]);
  });
});

describe('what belongs to others', () => {
  it.each([
    ['another installation', { ...ours, installation: 'installation-2' }],
    ['another provider', { ...ours, provider: 'other' }],
  ])('is none: of %s, on the same system and under the same names of Machines', async (_, mark) => {
    await start();
    await provision('shop-cp-0');
    expect(await find([], {}, mark)).toEqual([]);
  });

  it('is none: what has one of our names and no mark', async () => {
    await start();
    const durable = await provision('shop-cp-0');
    const [name, dataset] = [factOf(durable, 'vm'), factOf(durable, 'dataset')];
    await new Process().walk('release', 'shop-cp-0', durable);
    const client = await room.login();
    await client.call('vm.create', { name, memory: 1024 });
    await client.call('pool.dataset.create', { name: dataset });
    expect(await find()).toEqual([]);
  });

  it('is none: a virtual machine that somebody cloned from one of ours, its description too', async () => {
    await start();
    const durable = await provision('shop-cp-0');
    await room.room.powerOff(factOf(durable, 'vm'));
    const client = await room.login();
    const [{ id }] = await client.call('vm.query', [['name', '=', factOf(durable, 'vm')]]);
    await client.call('vm.clone', id, 'copy');
    expect(await find(['shop-cp-0'])).toEqual([]);
    const [orphan] = await find();
    expect(orphan?.what.filter((words) => words.startsWith('virtual'))).toEqual([
      `virtual machine ${factOf(durable, 'vm')} (STOPPED)`,
    ]);
  });

  it('is in doubt: a dataset that carries our mark under another name, as a copy would', async () => {
    const mark = { installation: 'installation-1', provider: 'talos', machine: 'shop-cp-0' };
    const userProperties = Object.fromEntries(
      Object.entries(mark).map(([key, value]) => [`openmcp.talos:${key}`, value]),
    );
    await start({ seed: { datasets: [{ name: 'tank/talos' }, { name: 'tank/talos/copy', userProperties }] } });
    expect(await find()).toMatchObject([
      { machine: 'shop-cp-0', doubt: expect.stringMatching(/^tank\/talos\/copy carries/) },
    ]);
  });
});
