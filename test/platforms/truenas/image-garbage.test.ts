import { describe, expect, it } from 'vitest';
import { assessSharedResources } from '../../../src/controllers/garbage/shared-resources.ts';
import { collectCandidate } from '../../../src/controllers/garbage/unused-resources.ts';
import type { ResourcesInUse } from '../../../src/engine/capabilities/garbage.ts';
import type { Facts } from '../../../src/engine/step.ts';
import { truenas } from '../../../src/platforms/truenas/index.ts';
import { testedReleases } from './baseline-run.ts';
import {
  changingCallPattern,
  dumpNas,
  fixtureClock,
  imageDownloadCount,
  type MachineRecord,
  nasFixture,
  startTrueNasPlatformFixture,
  stateSummary,
  TrueNasProviderProcess,
  toJsonText,
  useTrueNasPlatformFixture,
} from './true-nas-platform-fixture.ts';

useTrueNasPlatformFixture();

const ours = { installation: 'installation-1', provider: 'talos' };
const begin = fixtureClock.now().getTime();
const nothingNeeded: ResourcesInUse = { talos: [], facts: [] };
const finishedVerdict = { kind: 'finished' };

/** A garbage collection of the provider so many hours later. */
async function collectAt(
  hour: number,
  needed: () => ResourcesInUse | undefined = () => nothingNeeded,
  process = new TrueNasProviderProcess(),
) {
  const later = { ...fixtureClock, now: () => new Date(begin + hour * 3_600_000) };
  const context = { ...process.context('none', {}), clock: later, failureDomain: undefined, instance: ours };
  const found = (await truenas.garbage?.sharedResources?.(context)) ?? [];
  const removed: string[] = [];
  for (const candidate of await assessSharedResources(found, async () => needed())) {
    const sentence = await collectCandidate(candidate, later.now());
    if (sentence) removed.push(sentence);
  }
  return removed;
}

/** Creates an image in the cache; its only machine has been deleted. */
async function cacheImage(): Promise<{ readonly facts: Facts; readonly dataset: string; readonly path: string }> {
  const durable: MachineRecord = { progress: undefined };
  const process = new TrueNasProviderProcess();
  expect(await process.walk('provision', 'shop-cp-0', durable)).toMatchObject(finishedVerdict);
  const { facts } = durable.progress!;
  expect(await process.walk('release', 'shop-cp-0', durable)).toMatchObject(finishedVerdict);
  const path = String(facts['image']);
  return { facts, path, dataset: path.slice('/mnt/'.length, path.lastIndexOf('/')) };
}

const call = async (method: string, ...params: unknown[]) => (await nasFixture.login()).call(method, ...params);
const isThere = (dataset: string) => nasFixture.simulator.nas.datasets.has(dataset);

/** A foreign machine with that disc in it. */
async function foreignVm(path: string): Promise<number> {
  const { id } = await call('vm.create', { name: 'theirs', memory: 1024 });
  await call('vm.device.create', { vm: id, attributes: { dtype: 'CDROM', path } });
  return id;
}

describe.each(testedReleases)('on TrueNAS %s', (version) => {
  it('T48, G6: an image that has been unused for a day is removed, by any process, and downloaded again on demand', async () => {
    await startTrueNasPlatformFixture({ version });
    await call('vm.create', { name: 'theirs', memory: 1024 });
    const { dataset, path } = await cacheImage();
    const vms = toJsonText(dumpNas().vms);
    expect(await collectAt(0)).toEqual([]);
    expect(await collectAt(23)).toEqual([]);
    expect(isThere(dataset)).toBe(true);
    expect(await collectAt(24)).toEqual([expect.stringContaining(path)]);
    expect(stateSummary()).toMatchObject({ datasets: ['tank', 'tank/talos', 'tank/talos/images'] });
    expect(toJsonText(dumpNas().vms)).toBe(vms);
    expect(await collectAt(48)).toEqual([]);
    expect(await new TrueNasProviderProcess().walk('provision', 'shop-cp-1', { progress: undefined })).toMatchObject(
      finishedVerdict,
    );
    expect(imageDownloadCount()).toBe(2);
  });
});

describe('an image stays', () => {
  type Cache = Awaited<ReturnType<typeof cacheImage>>;
  const talos = (): ResourcesInUse['talos'] => [new TrueNasProviderProcess().context('none', {}).node.talos];
  const reasons: [
    string,
    (cache: Cache) => Promise<unknown> | unknown,
    (cache: Cache) => ResourcesInUse | undefined,
  ][] = [
    ['a machine of ours that is off has it attached', () => provisionedAndOff(), () => nothingNeeded],
    ['a foreign machine has it attached', ({ path }) => foreignVm(path), () => nothingNeeded],
    ['a ProviderConfig names it, or a Machine is in creation', () => {}, () => ({ ...nothingNeeded, talos: talos() })],
    ['a Machine has recorded it', () => {}, ({ facts }) => ({ ...nothingNeeded, facts: [facts] })],
    ['the needed images are unknown', () => {}, () => undefined],
    ['it has lost its ownership mark', ({ dataset }) => unmark(dataset), () => nothingNeeded],
    [
      'it is in a pool that no ProviderConfig names',
      ({ dataset }) => move(dataset, 'tank/old/images'),
      () => nothingNeeded,
    ],
    [
      'it contains a foreign dataset',
      ({ dataset }) => call('pool.dataset.create', { name: `${dataset}/theirs` }),
      () => nothingNeeded,
    ],
  ];

  async function provisionedAndOff(): Promise<void> {
    const durable: MachineRecord = { progress: undefined };
    await new TrueNasProviderProcess().walk('provision', 'shop-cp-1', durable);
    await nasFixture.simulator.powerOff(String(durable.progress?.facts['vm']));
  }
  const unmark = (dataset: string) => {
    const keys = ['installation', 'provider', 'machine'].map((key) => ({ key: `openmcp.talos:${key}`, remove: true }));
    return call('pool.dataset.update', dataset, { comments: '', user_properties_update: keys });
  };
  function move(dataset: string, parent: string): void {
    const { datasets } = nasFixture.simulator.nas;
    const found = datasets.get(dataset)!;
    datasets.delete(dataset);
    const id = `${parent}/${dataset.split('/').at(-1)}`;
    datasets.set(id, { ...found, id });
  }

  it.each(reasons)('T48, G5: as long as %s, however often this process restarts', async (_, arrange, needed) => {
    await startTrueNasPlatformFixture();
    const cache = await cacheImage();
    await arrange(cache);
    const before = [...nasFixture.simulator.nas.datasets.keys()];
    for (const hour of [0, 25, 50, 75]) expect(await collectAt(hour, () => needed(cache))).toEqual([]);
    expect([...nasFixture.simulator.nas.datasets.keys()]).toEqual(before);
    expect(
      nasFixture.switchboard.calls.filter(
        ({ name, detail }) => name === 'pool.dataset.delete' && (detail as unknown[])[0] === cache.dataset,
      ),
    ).toEqual([]);
  });

  it('T48: for another day when it was used in between', async () => {
    await startTrueNasPlatformFixture();
    const { dataset } = await cacheImage();
    await collectAt(0);
    await collectAt(20, () => ({ ...nothingNeeded, talos: talos() }));
    expect(await collectAt(30)).toEqual([]);
    expect(await collectAt(53)).toEqual([]);
    expect(isThere(dataset)).toBe(true);
    expect(await collectAt(54)).toHaveLength(1);
  });

  it('T48: for a day when the clock was wrong at its first mark', async () => {
    await startTrueNasPlatformFixture();
    await cacheImage();
    await collectAt(1000);
    expect(await collectAt(0)).toEqual([]);
    expect(await collectAt(23)).toEqual([]);
    expect(await collectAt(24)).toHaveLength(1);
  });

  it('G5, S47: when it is attached or needed at the last moment, and no machine is stopped', async () => {
    await startTrueNasPlatformFixture();
    const { dataset, path } = await cacheImage();
    const client = await nasFixture.login();
    const { id: vm } = await client.call('vm.create', { name: 'other', memory: 1024 });
    await collectAt(0);
    let asked = 0;
    expect(
      await collectAt(24, () => {
        asked += 1;
        return asked < 2 ? nothingNeeded : { ...nothingNeeded, talos: talos() };
      }),
    ).toEqual([]);
    // Between the query for all machines and the one right before the deletion.
    let looks = 0;
    const hush = nasFixture.switchboard.onCall(({ name }) => {
      if (name !== 'vm.query') return;
      looks += 1;
      if (looks !== 2) return;
      const id = 77;
      nasFixture.simulator.nas.devices.set(id, { id, vm, order: null, attributes: { dtype: 'CDROM', path } } as never);
    });
    expect(await collectAt(25)).toEqual([]);
    hush();
    expect(isThere(dataset)).toBe(true);
  });
});

describe('a removal', () => {
  it('T48: blocks a machine that needs the image, which then is downloaded again', async () => {
    await startTrueNasPlatformFixture();
    await cacheImage();
    await collectAt(0);
    const process = new TrueNasProviderProcess();
    let walk: Promise<unknown> | undefined;
    let asked = 0;
    const needed = () => {
      asked += 1;
      // Its Machine was created right after this answer.
      if (asked === 2) walk = process.walk('provision', 'shop-cp-1', { progress: undefined });
      return nothingNeeded;
    };
    expect(await collectAt(24, needed, process)).toHaveLength(1);
    expect(await walk).toMatchObject(finishedVerdict);
    expect(imageDownloadCount()).toBe(2);
  });

  it('T48: costs one call without cached images, two when all are in use, and no change', async () => {
    await startTrueNasPlatformFixture();
    const process = new TrueNasProviderProcess();
    const names = () =>
      nasFixture.switchboard.calls.map(({ name }) => name).filter((name) => !/^(auth|core|system)\./.test(name));
    await collectAt(0, undefined, process);
    expect(names()).toEqual(['pool.dataset.query']);
    await process.walk('provision', 'shop-cp-0', { progress: undefined });
    nasFixture.switchboard.calls.length = 0;
    await collectAt(1, () => expect.fail('nobody has to be asked'), process);
    expect(names()).toEqual(['pool.dataset.query', 'vm.query']);
  });

  it('T48, S52: with a fault or a kill at any of its calls has the same result, later', async () => {
    await startTrueNasPlatformFixture();
    let count = 1;
    for (let at = 0; at < count; at += 1) {
      for (const way of ['killed', 'drop', 'lose-reply'] as const) {
        const { dataset } = await cacheImage();
        await collectAt(0);
        const process = new TrueNasProviderProcess();
        let seen = 0;
        const hush = nasFixture.switchboard.judge(({ simulator: where, name }) => {
          if (
            where !== 'truenas' ||
            /^(auth|core|system)\./.test(name) ||
            !(changingCallPattern.test(name) || /query$/.test(name))
          )
            return undefined;
          seen += 1;
          if (seen !== at + 1) return undefined;
          if (way !== 'killed') return { kind: way };
          void process.kill();
          return undefined;
        });
        await collectAt(24, undefined, process).catch(() => {});
        hush();
        count = Math.max(count, Math.min(seen, 12));
        await collectAt(25);
        await collectAt(49);
        expect(isThere(dataset), `${way} at call ${at}`).toBe(false);
        expect(stateSummary()).toMatchObject({ vms: [], datasets: ['tank', 'tank/talos', 'tank/talos/images'] });
      }
    }
    expect(count).toBeGreaterThan(5);
  }, 60_000);
});
