import { describe, expect, it } from 'vitest';
import type { Facts } from '../../../src/engine/platform.ts';
import type { Needed } from '../../../src/engine/tidy.ts';
import { truenas } from '../../../src/platforms/truenas/index.ts';
import { versions } from './rehearsal.ts';
import {
  changing,
  clock,
  type Durable,
  downloads,
  dump,
  Process,
  room,
  shape,
  start,
  text,
  useScene,
} from './scene.ts';

useScene();

const ours = { installation: 'installation-1', provider: 'talos' };
const begin = clock.now().getTime();
const nobody: Needed = { talos: [], facts: [] };
const made = { kind: 'finished' };

/** A look of the provider so many hours later. */
async function tidyAt(hour: number, needed: () => Needed | undefined = () => nobody, process = new Process()) {
  const later = { ...clock, now: () => new Date(begin + hour * 3_600_000) };
  const context = { ...process.context('none', {}), clock: later, site: undefined, ours };
  return (await truenas.tidy?.({ ...context, needed: async () => needed(), keepsakes: async () => [] })) ?? [];
}

/** The cache after the only machine that it was for has gone. */
async function cached(): Promise<{ readonly facts: Facts; readonly dataset: string; readonly path: string }> {
  const durable: Durable = { progress: undefined };
  const process = new Process();
  expect(await process.walk('provision', 'shop-cp-0', durable)).toMatchObject(made);
  const { facts } = durable.progress!;
  expect(await process.walk('release', 'shop-cp-0', durable)).toMatchObject(made);
  const path = String(facts['image']);
  return { facts, path, dataset: path.slice('/mnt/'.length, path.lastIndexOf('/')) };
}

const call = async (method: string, ...params: unknown[]) => (await room.login()).call(method, ...params);
const isThere = (dataset: string) => room.room.nas.datasets.has(dataset);

/** Somebody's own machine, with that disc in it. */
async function foreignVm(path: string): Promise<number> {
  const { id } = await call('vm.create', { name: 'theirs', memory: 1024 });
  await call('vm.device.create', { vm: id, attributes: { dtype: 'CDROM', path } });
  return id;
}

describe.each(versions)('on TrueNAS %s', (version) => {
  it('T48, G6: an image that nobody has needed for a day is removed, whoever counted, and fetched anew when it is wanted', async () => {
    await start({ version });
    await call('vm.create', { name: 'theirs', memory: 1024 });
    const { dataset, path } = await cached();
    const vms = text(dump().vms);
    expect(await tidyAt(0)).toEqual([]);
    expect(await tidyAt(23)).toEqual([]);
    expect(isThere(dataset)).toBe(true);
    expect(await tidyAt(24)).toEqual([expect.stringContaining(path)]);
    expect(shape()).toMatchObject({ datasets: ['tank', 'tank/talos', 'tank/talos/images'] });
    expect(text(dump().vms)).toBe(vms);
    expect(await tidyAt(48)).toEqual([]);
    expect(await new Process().walk('provision', 'shop-cp-1', { progress: undefined })).toMatchObject(made);
    expect(downloads()).toBe(2);
  });
});

describe('an image stays', () => {
  type Cache = Awaited<ReturnType<typeof cached>>;
  const talos = (): Needed['talos'] => [new Process().context('none', {}).node.talos];
  const reasons: [string, (cache: Cache) => Promise<unknown> | unknown, (cache: Cache) => Needed | undefined][] = [
    ['a machine of ours that is off has it attached', () => provisionedAndOff(), () => nobody],
    ['a machine of somebody else has it attached', ({ path }) => foreignVm(path), () => nobody],
    ['a ProviderConfig names it, or a Machine is on its way', () => {}, () => ({ ...nobody, talos: talos() })],
    ['a Machine has written it down', () => {}, ({ facts }) => ({ ...nobody, facts: [facts] })],
    ['nobody can tell what is needed', () => {}, () => undefined],
    ['it has lost its mark', ({ dataset }) => unmark(dataset), () => nobody],
    ['it lies in a pool that no ProviderConfig names', ({ dataset }) => move(dataset, 'tank/old/images'), () => nobody],
    [
      'something of somebody lies in it',
      ({ dataset }) => call('pool.dataset.create', { name: `${dataset}/theirs` }),
      () => nobody,
    ],
  ];

  async function provisionedAndOff(): Promise<void> {
    const durable: Durable = { progress: undefined };
    await new Process().walk('provision', 'shop-cp-1', durable);
    await room.room.powerOff(String(durable.progress?.facts['vm']));
  }
  const unmark = (dataset: string) => {
    const keys = ['installation', 'provider', 'machine'].map((key) => ({ key: `openmcp.talos:${key}`, remove: true }));
    return call('pool.dataset.update', dataset, { comments: '', user_properties_update: keys });
  };
  function move(dataset: string, parent: string): void {
    const { datasets } = room.room.nas;
    const found = datasets.get(dataset)!;
    datasets.delete(dataset);
    const id = `${parent}/${dataset.split('/').at(-1)}`;
    datasets.set(id, { ...found, id });
  }

  it.each(reasons)('T48, G5: as long as %s, however often this process begins anew', async (_, arrange, needed) => {
    await start();
    const cache = await cached();
    await arrange(cache);
    const before = [...room.room.nas.datasets.keys()];
    for (const hour of [0, 25, 50, 75]) expect(await tidyAt(hour, () => needed(cache))).toEqual([]);
    expect([...room.room.nas.datasets.keys()]).toEqual(before);
    expect(
      room.switchboard.calls.filter(
        ({ name, detail }) => name === 'pool.dataset.delete' && (detail as unknown[])[0] === cache.dataset,
      ),
    ).toEqual([]);
  });

  it('T48: for another day when it was needed in between', async () => {
    await start();
    const { dataset } = await cached();
    await tidyAt(0);
    await tidyAt(20, () => ({ ...nobody, talos: talos() }));
    expect(await tidyAt(30)).toEqual([]);
    expect(await tidyAt(53)).toEqual([]);
    expect(isThere(dataset)).toBe(true);
    expect(await tidyAt(54)).toHaveLength(1);
  });

  it('T48: for a day when the clock was wrong as it was noted', async () => {
    await start();
    await cached();
    await tidyAt(1000);
    expect(await tidyAt(0)).toEqual([]);
    expect(await tidyAt(23)).toEqual([]);
    expect(await tidyAt(24)).toHaveLength(1);
  });

  it('G5, S47: when it is attached or wanted in the last moment, and nobody is stopped', async () => {
    await start();
    const { dataset, path } = await cached();
    const client = await room.login();
    const { id: vm } = await client.call('vm.create', { name: 'other', memory: 1024 });
    await tidyAt(0);
    let asked = 0;
    expect(
      await tidyAt(24, () => {
        asked += 1;
        return asked < 2 ? nobody : { ...nobody, talos: talos() };
      }),
    ).toEqual([]);
    // Between the look at all machines and the one right before the deletion.
    let looks = 0;
    const hush = room.switchboard.onCall(({ name }) => {
      if (name !== 'vm.query') return;
      looks += 1;
      if (looks !== 2) return;
      const id = 77;
      room.room.nas.devices.set(id, { id, vm, order: null, attributes: { dtype: 'CDROM', path } } as never);
    });
    expect(await tidyAt(25)).toEqual([]);
    hush();
    expect(isThere(dataset)).toBe(true);
  });
});

describe('a removal', () => {
  it('T48: is waited for by a machine that wants the image, which then is fetched anew', async () => {
    await start();
    await cached();
    await tidyAt(0);
    const process = new Process();
    let walk: Promise<unknown> | undefined;
    let asked = 0;
    const needed = () => {
      asked += 1;
      // Its Machine came into being right after this answer.
      if (asked === 2) walk = process.walk('provision', 'shop-cp-1', { progress: undefined });
      return nobody;
    };
    expect(await tidyAt(24, needed, process)).toHaveLength(1);
    expect(await walk).toMatchObject(made);
    expect(downloads()).toBe(2);
  });

  it('T48: costs one call where nothing is cached, two where all is in use, and no change', async () => {
    await start();
    const process = new Process();
    const names = () =>
      room.switchboard.calls.map(({ name }) => name).filter((name) => !/^(auth|core|system)\./.test(name));
    await tidyAt(0, undefined, process);
    expect(names()).toEqual(['pool.dataset.query']);
    await process.walk('provision', 'shop-cp-0', { progress: undefined });
    room.switchboard.calls.length = 0;
    await tidyAt(1, () => expect.fail('nobody has to be asked'), process);
    expect(names()).toEqual(['pool.dataset.query', 'vm.query']);
  });

  it('T48, S52: that is struck or ended at any of its calls ends as any other, later', async () => {
    await start();
    let count = 1;
    for (let at = 0; at < count; at += 1) {
      for (const way of ['killed', 'drop', 'lose-reply'] as const) {
        const { dataset } = await cached();
        await tidyAt(0);
        const process = new Process();
        let seen = 0;
        const hush = room.switchboard.judge(({ room: where, name }) => {
          if (
            where !== 'truenas' ||
            /^(auth|core|system)\./.test(name) ||
            !(changing.test(name) || /query$/.test(name))
          )
            return undefined;
          seen += 1;
          if (seen !== at + 1) return undefined;
          if (way !== 'killed') return { kind: way };
          void process.kill();
          return undefined;
        });
        await tidyAt(24, undefined, process).catch(() => {});
        hush();
        count = Math.max(count, Math.min(seen, 12));
        await tidyAt(25);
        await tidyAt(49);
        expect(isThere(dataset), `${way} at call ${at}`).toBe(false);
        expect(shape()).toMatchObject({ vms: [], datasets: ['tank', 'tank/talos', 'tank/talos/images'] });
      }
    }
    expect(count).toBeGreaterThan(5);
  }, 60_000);
});
