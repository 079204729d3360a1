import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { machineName } from '../../../src/api/names.ts';
import { isFull, oneOf, seed } from '../../e2e/sweep/draw.ts';
import { quickFaults } from '../../e2e/sweep/faults.ts';
import { RemovalScene } from './removal-scene.ts';
import { changing, type Durable, Process, room, start, text, useScene, withoutCache } from './scene.ts';

useScene();

let scene: RemovalScene;
beforeAll(async () => {
  scene = await RemovalScene.open();
});
afterAll(async () => await scene.close());
beforeEach(async () => await scene.reset());

/** A machine without a Machine. */
async function leave(machine: string, change: object = {}): Promise<string> {
  const durable: Durable = { progress: undefined };
  await new Process().walk('provision', machine, durable, change);
  return String(durable.progress?.facts['vm']);
}
const left = () => text(withoutCache());
const wordsOf = async () => (await scene.orphans()).map(({ machine, message }) => `${machine}: ${message}`);

/** Calls of a process that change something on the system, while it looks. */
async function changesOf(work: () => Promise<unknown>): Promise<string[]> {
  room.switchboard.calls.length = 0;
  await work();
  return room.switchboard.calls.map(({ name }) => name).filter((name) => changing.test(name));
}

describe('an orphan that rests', () => {
  it('G14: is removed after a day, whatever processes there were, and nothing else', async () => {
    await start();
    await leave('shop-cp-1');
    const before = left();
    const vm = await leave('shop-cp-0');
    await scene.machine('shop-cp-1');
    await room.room.powerOff(vm);
    expect(await changesOf(() => scene.look())).toEqual([]);
    expect(await changesOf(() => scene.watch(31))).toEqual([]);
    expect(await wordsOf()).toEqual([expect.stringMatching(/^shop-cp-0: It is removed at 2026-11-22T00:00:00Z/)]);
    scene.wait(0.75);
    expect(await changesOf(() => scene.settle())).toEqual(['vm.delete', 'pool.dataset.delete']);
    expect(left()).toBe(before);
    expect([await scene.orphans(), scene.said]).toEqual([[], ['OrphanFound', 'OrphanRemoval', 'OrphanRemoved']]);
  });

  it('begins its day anew when somebody starts it', async () => {
    await start();
    const vm = await leave('shop-cp-0');
    await room.room.powerOff(vm);
    await scene.look();
    await scene.watch(27);
    const client = await room.login();
    const [{ id }] = await client.call('vm.query', [['name', '=', vm]]);
    await client.call('vm.start', id);
    await scene.look();
    expect(await wordsOf()).toEqual([expect.stringMatching(/^shop-cp-0: It runs, or nobody can tell\./)]);
    await room.room.powerOff(vm);
    await scene.look();
    expect(await changesOf(() => scene.watch(27))).toEqual([]);
  });

  it('begins its day anew when the provider was away: nobody knows what ran meanwhile', async () => {
    await start();
    await room.room.powerOff(await leave('shop-cp-0'));
    await scene.look();
    scene.wait(48);
    expect(await changesOf(() => scene.look())).toEqual([]);
    expect(await wordsOf()).toEqual([expect.stringMatching(/^shop-cp-0: It is removed at 2026-11-24T00:00:00Z/)]);
  });

  it('stays when it is started between the look and the removal', async () => {
    await start();
    const vm = await leave('shop-cp-0');
    await room.room.powerOff(vm);
    await scene.look();
    await scene.watch(31);
    scene.wait(0.75);
    const client = await room.login();
    const [{ id }] = await client.call('vm.query', [['name', '=', vm]]);
    let seen = 0;
    const hush = room.switchboard.onCall(({ name }) => {
      if (name !== 'pool.dataset.query') return;
      seen += 1;
      if (seen === 1) client.post('vm.start', id);
    });
    await scene.look();
    hush();
    expect((await client.call('vm.status', id)).state).toBe('RUNNING');
    expect(await scene.orphans()).toEqual([expect.not.objectContaining({ removal: expect.anything() })]);
  });

  it('stays as long as an address is claimed for it, or its Cluster exists', async () => {
    await start();
    const named = machineName({ namespace: 'team', name: 'prod' }, 'cp', 0);
    await room.room.powerOff(await leave(named));
    await room.room.powerOff(await leave('shop-cp-0'));
    await scene.cluster();
    await scene.claim('shop-cp-0');
    await scene.look();
    scene.wait(48);
    expect(await changesOf(() => scene.look())).toEqual([]);
    expect(await wordsOf()).toEqual([
      expect.stringContaining('Nobody can say whether Cluster team/prod wants it'),
      expect.stringMatching(/^shop-cp-0: The address 192\.168\.10\.77 is claimed for it\./),
    ]);
    await scene.ask(`${named}, shop-cp-0`);
    await scene.settle();
    expect((await scene.orphans()).map(({ machine }) => machine)).toEqual([named]);
    expect([await scene.holder(), scene.said.includes('OrphanKept')]).toEqual([undefined, true]);
  });
});

describe('an orphan that runs', () => {
  it('is never removed by itself', async () => {
    await start();
    await leave('shop-cp-0');
    await scene.look();
    scene.wait(1000);
    expect(await changesOf(() => scene.look())).toEqual([]);
    expect(scene.said).toEqual(['OrphanFound']);
  });

  it('is removed with all its disks, on other pools too, when a person asks for it', async () => {
    await start({ seed: { pools: [{ name: 'tank' }, { name: 'fast' }] } });
    const disks = [
      { name: 'data', sizeGiB: 20 },
      { name: 'cache', sizeGiB: 20, pool: 'fast' },
    ];
    const change = { sizes: [{ name: 'small', cpus: 2, memoryMiB: 4096, diskGiB: 40, disks }] };
    const vm = await leave('shop-cp-0', change);
    await scene.look(undefined, change);
    const [orphan] = await scene.orphans();
    for (const part of ['tank', 'fast']) expect(orphan?.what).toContain(`zvol ${part}/talos/${vm}/disk-`);
    await scene.ask('shop-cp-0');
    await scene.settle(undefined, change);
    expect(text(room.room.dump().datasets)).not.toContain(vm);
    expect([room.room.nas.vms.size, await scene.orphans()]).toEqual([0, []]);
  });

  it('T26: that is encrypted goes while it is locked, and takes its key along', async () => {
    await start();
    const before = left();
    const key = (await scene.diskKey('shop-cp-0').ensure({ system: '', roots: [] })).reveal();
    const sizes = [{ name: 'small', cpus: 2, memoryMiB: 4096, diskGiB: 40, encrypted: true }];
    await leave('shop-cp-0', { sizes });
    expect((await scene.diskKey('shop-cp-0').read()).reveal()).toBe(key);
    await room.room.restart({ hostReboot: true });
    await scene.look();
    await scene.ask('shop-cp-0');
    await scene.settle();
    expect([left() === before, await scene.orphans()]).toEqual([true, []]);
    await expect(scene.diskKey('shop-cp-0').read()).rejects.toMatchObject({ code: 'DISK_KEY_MISSING' });
  });

  it('is left alone from the moment on in which there is a Machine of its name', async () => {
    await start();
    await leave('shop-cp-0');
    await scene.look();
    await scene.ask('shop-cp-0');
    // It may take a minute to shut down.
    room.runner.minding = false;
    await scene.look();
    expect(await scene.orphans()).toMatchObject([{ removal: { step: 'powered-off', facts: { asked: true } } }]);
    await scene.machine('shop-cp-0');
    expect(await changesOf(() => scene.settle())).toEqual([]);
    await scene.look();
    expect([await scene.orphans(), room.room.nas.vms.size]).toEqual([[], 1]);
  });
});

describe(`whatever happens on the way (SWEEP=${seed})`, () => {
  /** A removal that somebody asked for; the calls of TrueNAS that it takes. */
  async function remove(process = new Process()): Promise<string[]> {
    const calls: string[] = [];
    const hush = room.switchboard.onCall(({ room: where, name }) => {
      if (where === 'truenas' && !/^(core|auth|system)\./.test(name)) calls.push(name);
    });
    await scene.settle(process).finally(hush);
    return calls;
  }

  it('T47: a call of a removal struck, or the process killed at it, it comes to the same end', async () => {
    await start();
    const empty = left();
    await leave('shop-cp-0');
    await scene.ask('shop-cp-0');
    const calls = await remove();
    expect(left()).toBe(empty);
    const ways = Object.values(quickFaults);
    for (const [at, name] of calls.entries()) {
      if (!isFull && (at + seed) % 2 > 0) continue;
      const where = `${name}, call ${at}`;
      await leave('shop-cp-0');
      await scene.claim('shop-cp-0');
      await scene.ask('shop-cp-0');
      const process = new Process();
      let seen = 0;
      const hush = room.switchboard.judge((call) => {
        if (call.room !== 'truenas' || /^(core|auth|system)\./.test(call.name)) return undefined;
        seen += 1;
        if (seen !== at + 1) return undefined;
        if (Math.floor((at + seed) / 2) % 2 === 0) void process.kill();
        return oneOf(ways, at).strike(call, where);
      });
      await remove(process).catch((error: unknown) => {
        if (!process.stop.signal.aborted) throw error;
      });
      hush();
      if (process.stop.signal.aborted) await remove();
      expect([left(), await scene.orphans(), await scene.holder()], where).toEqual([empty, [], undefined]);
      await process.kill();
    }
  }, 180_000);
});
