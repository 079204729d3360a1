import { beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { waitForCondition } from '../../../../test/support/harness/scripted-http-server.ts';
import { type ScriptedReply, tenSecondSignal, useScriptedNas } from '../../../../test/support/harness/scripted-nas.ts';
import { isReclaimed } from '../../../../test/support/is-reclaimed.ts';
import type { Vm, VmDevice } from '../api/schema.ts';
import { SystemInformer } from './system-informer.ts';

const at = useScriptedNas();
let informer: SystemInformer;
/** The state of the system. */
let vms: Vm[];
let datasets: string[];

const vm = (id: number, more: Partial<Vm> = {}): Vm => ({
  ...{ id, name: `vm${id}`, uuid: `uuid-${id}`, vcpus: 1, cores: 1, threads: 1, memory: 1024 },
  ...{ devices: [], status: { state: 'STOPPED' } },
  ...more,
});
const device = (id: number, order: number): VmDevice => ({ id, vm: 1, order, attributes: { dtype: 'DISK' } });

function reply(method: string, params: readonly unknown[]): ScriptedReply {
  if (method === 'vm.query') return { result: vms };
  if (method === 'pool.query') return { result: [{ name: 'tank', guid: '1', status: 'ONLINE', healthy: true }] };
  if (method === 'filesystem.stat') return { result: { type: 'FILE', size: 1, mtime: 0 } };
  if (method !== 'pool.dataset.query') return { result: null };
  const [[, kind, wanted]] = params[0] as [[string, string, string | string[]]];
  const isWanted = (id: string) => (kind === '^' ? id.startsWith(String(wanted)) : wanted.includes(id));
  return { result: datasets.filter(isWanted).map((id) => ({ id, type: 'FILESYSTEM' })) };
}

beforeEach(() => {
  [vms, datasets] = [[vm(1), vm(2)], ['tank/vms']];
  at.server.script = reply;
  informer = SystemInformer.of(at.nas);
});

const signal = tenSecondSignal;
const change = (method: string, params: readonly unknown[]) =>
  at.nas.change(method, params, z.unknown(), { signal: signal() });
/** A change with this answer. */
async function changeWith(method: string, params: readonly unknown[], result: unknown): Promise<void> {
  at.server.script = (name, more) => (name === method ? { result } : reply(name, more));
  await change(method, params);
  at.server.script = reply;
}
/** Lets the time pass in which readers wait for others. */
async function answerOf<T>(reading: Promise<T>): Promise<T> {
  await at.clock.settle();
  await at.clock.advance(25);
  return await reading;
}
const named = (id: number, freshness = {}) =>
  informer.vms.named({ uuid: `uuid-${id}`, vmName: `vm${id}` }, freshness, signal());
const state = async (id: number) => (await answerOf(named(id)))[0]?.status.state;
const dataset = async (id: string) => await answerOf(informer.datasets.get(id, {}, signal()));
/** The number of such calls meanwhile. */
async function callsDuring(method: string, work: () => Promise<unknown>): Promise<number> {
  const before = at.server.named(method).length;
  await work();
  return at.server.named(method).length - before;
}
const vmReads = (work: () => Promise<unknown>) => callsDuring('vm.query', work);
const datasetReads = (work: () => Promise<unknown>) => callsDuring('pool.dataset.query', work);

/** Holds the answer to the next list of VMs back. The rows are those of its begin. */
function holdNextList(): () => void {
  let release = () => {};
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  at.server.script = (method, params) => {
    if (method !== 'vm.query') return reply(method, params);
    const rows = vms;
    at.server.script = reply;
    return held.then(() => ({ result: rows }));
  };
  return release;
}

/** A reader that has begun a list, which is not answered yet. */
async function beginList(): Promise<{ readonly answer: Promise<readonly Vm[]>; readonly release: () => void }> {
  const release = holdNextList();
  const before = at.server.named('vm.query').length;
  const answer = named(2, { atLeast: informer.nextVersion() });
  await at.clock.settle();
  await at.clock.advance(25);
  await waitForCondition(() => at.server.named('vm.query').length > before, 'the list is asked for');
  return { answer, release };
}

async function listen(): Promise<void> {
  informer.listen(() => {});
  await at.read();
  await waitForCondition(() => at.server.named('core.subscribe').length === 3, 'it is subscribed');
  await at.read();
}
const report = async (collection: string, id: unknown) => {
  const params = { msg: 'changed', collection, id };
  for (const socket of at.server.sockets)
    socket.send(JSON.stringify({ jsonrpc: '2.0', method: 'collection_update', params }));
  await at.read();
};

describe('a reader', () => {
  it('shares a call with those who ask at the same time, and its answer with those who come later', async () => {
    expect(await vmReads(() => answerOf(Promise.all([named(1), named(2), informer.vms.readAll(signal())])))).toBe(1);
    expect(await vmReads(() => named(1))).toBe(0);
  });

  it('that needs the state of now gets no answer whose call began before', async () => {
    const { answer, release } = await beginList();
    vms = [vm(2, { status: { state: 'RUNNING' } })];
    const fresh = informer.vms.readAll(signal());
    expect((await answerOf(fresh)).map(({ id, status }) => [id, status.state])).toEqual([[2, 'RUNNING']]);
    release();
    // The older answer comes later, and replaces nothing.
    await answer;
    expect([await state(2), await state(1)]).toEqual(['RUNNING', undefined]);
  });

  it('joins a call that began after everything that is known', async () => {
    const { answer, release } = await beginList();
    const joining = named(2);
    await at.clock.settle();
    release();
    expect(await vmReads(async () => expect((await joining)[0]?.id).toBe(2))).toBe(0);
    await answer;
  });

  it('fails with the call, and the next one calls again', async () => {
    const error = { code: -32001, message: 'Method call error', data: { error: 14, reason: '[EFAULT] not now' } };
    at.server.script = (method, params) => (method === 'vm.query' ? { error } : reply(method, params));
    await expect(answerOf(named(1))).rejects.toThrow(/not now/);
    at.server.script = reply;
    expect(await state(1)).toBe('STOPPED');
  });
});

describe('after a change of ours', () => {
  it('no reader sees a state older than it, even from a call that was answered later', async () => {
    const { answer, release } = await beginList();
    await change('vm.start', [1]);
    vms = [vm(1, { status: { state: 'RUNNING' } }), vm(2)];
    release();
    await answer;
    expect(await vmReads(async () => expect(await state(2)).toBe('STOPPED'))).toBe(0);
    expect(await vmReads(async () => expect(await state(1)).toBe('RUNNING'))).toBe(1);
  });

  it('a list that began before does not hide the machine that was made', async () => {
    await state(1);
    const { answer, release } = await beginList();
    await changeWith('vm.create', [{ name: 'vm3' }], vm(3));
    release();
    await answer;
    expect(await vmReads(async () => expect((await named(3))[0]?.id).toBe(3))).toBe(0);
  });

  it('the answers about a new machine and its devices count as a read of them', async () => {
    await state(1);
    vms = [vm(2)];
    await answerOf(informer.vms.readAll(signal()));
    await changeWith('vm.create', [{ name: 'vm1' }], vm(1));
    for (const [id, order] of [
      [5, 1000],
      [6, 1001],
    ] as const)
      await changeWith('vm.device.create', [{ vm: 1 }], device(id, order));
    const look = async () => expect((await named(1))[0]?.devices.map(({ id }) => id)).toEqual([5, 6]);
    expect(await vmReads(look)).toBe(0);
  });

  it.each([
    ['a device at the place of another, which is moved', 'vm.device.create', { vm: 1 }, device(6, 1000)],
    ['a device that was changed', 'vm.device.update', 5, device(5, 1001)],
    ['a device that was removed', 'vm.device.delete', 5, true],
    ['a machine that was changed', 'vm.update', 1, vm(1)],
    ['a machine that was deleted', 'vm.delete', 1, true],
  ])('is read again: %s', async (_, method, about, answer) => {
    vms = [vm(1, { devices: [device(5, 1000)] }), vm(2)];
    await state(1);
    await changeWith(method, [about], answer);
    vms = [vm(2)];
    const look = async () => expect(await answerOf(named(1))).toEqual([]);
    expect(await vmReads(look)).toBe(method === 'vm.delete' ? 0 : 1);
  });

  it('that failed, everything is read again', async () => {
    await state(1);
    await dataset('tank/vms');
    const error = { code: -32001, message: 'Method call error', data: { error: 14, reason: '[EFAULT] broken' } };
    at.server.script = (method, params) => (method === 'vm.start' ? { error } : reply(method, params));
    await expect(change('vm.start', [2])).rejects.toThrow(/broken/);
    expect([await vmReads(() => state(1)), await datasetReads(() => dataset('tank/vms'))]).toEqual([1, 1]);
  });

  it('during which another client changed something, the answer is not taken for the state', async () => {
    await listen();
    await state(1);
    at.server.script = (method, params) => {
      if (method !== 'vm.device.create') return reply(method, params);
      return report('vm.query', 9).then(() => ({ result: device(5, 1000) }));
    };
    await change('vm.device.create', [{ vm: 1 }]);
    at.server.script = reply;
    expect(await vmReads(async () => expect((await answerOf(named(1)))[0]?.devices).toEqual([]))).toBe(1);
  });
});

describe('what is known', () => {
  it('counts for 15 seconds where nothing tells of changes, and for 45 where events do', async () => {
    await state(1);
    await at.clock.advance(14_000);
    expect(await vmReads(() => state(1))).toBe(0);
    await at.clock.advance(1000);
    expect(await vmReads(() => state(1))).toBe(1);
    await listen();
    await state(1);
    await at.clock.advance(44_000);
    expect(await vmReads(() => state(1))).toBe(0);
    await at.clock.advance(1000);
    expect(await vmReads(() => state(1))).toBe(1);
  });

  it('counts for 15 seconds while the events of the object are taken for ours', async () => {
    await listen();
    await change('vm.stop', [1]);
    await state(1);
    await at.clock.advance(16_000);
    expect([await vmReads(() => state(2)), await vmReads(() => state(1))]).toEqual([0, 1]);
  });

  it('is released when nobody accepts its age any more', async () => {
    const row = new WeakRef((await answerOf(named(1)))[0] as Vm);
    await at.clock.advance(44_000);
    expect(await isReclaimed(row)).toBe(false);
    await at.clock.advance(2000);
    expect(await isReclaimed(row)).toBe(true);
  });

  it('is released at once when it is replaced, and what replaces it is kept for its own time', async () => {
    const read = async () => new WeakRef((await answerOf(named(1)))[0] as Vm);
    const replaced = await read();
    await at.clock.advance(20_000);
    const kept = await read();
    expect([await isReclaimed(replaced), await isReclaimed(kept)]).toEqual([true, false]);
    await at.clock.advance(30_000);
    expect(await vmReads(() => named(1, { maxAgeSeconds: 45 }))).toBe(0);
    await at.clock.advance(16_000);
    expect(await isReclaimed(kept)).toBe(true);
  });

  it('holds the names of pools for ten minutes, whatever is in doubt, and their state for 15 seconds', async () => {
    const names = (...pools: string[]) => answerOf(informer.poolsNamed(pools, signal()));
    const pools = () => answerOf(informer.pools({}, signal()));
    const calls = (work: () => Promise<unknown>) => callsDuring('pool.query', work);
    expect([await calls(() => names('tank')), await calls(pools)]).toEqual([1, 0]);
    await at.clock.advance(15_000);
    informer.outdateAll();
    expect([await calls(() => names('tank')), await calls(pools)]).toEqual([0, 1]);
    await at.clock.advance(599_000);
    expect([await calls(() => names('tank')), await calls(() => names('fast'))]).toEqual([0, 1]);
    await at.clock.advance(600_000);
    expect(await calls(() => names('tank'))).toBe(1);
  });

  it('holds a file until it is written to', async () => {
    const file = (path: string) => answerOf(informer.file(path, {}, signal()));
    const calls = (path: string) => callsDuring('filesystem.stat', () => file(path));
    expect([await calls('/mnt/a'), await calls('/mnt/a'), await calls('/mnt/b')]).toEqual([1, 0, 1]);
    await at.nas.observedWrite('filesystem.put', ['/mnt/a'], async () => {});
    expect([await calls('/mnt/a'), await calls('/mnt/b')]).toEqual([1, 0]);
  });

  it('comes from a list that was made for another purpose, once it was parsed', async () => {
    const list = await informer.relist(['tank/vms/a'], signal());
    const beside = () => answerOf(informer.datasets.beside(['tank/vms/a', 'tank/vms/b'], {}, signal()));
    list.read();
    expect(await vmReads(async () => expect(await state(1)).toBe('STOPPED'))).toBe(0);
    expect([await datasetReads(beside), await callsDuring('pool.query', () => informer.pools({}, signal()))]).toEqual([
      0, 0,
    ]);
    expect((await informer.relist(['tank/vms/a'], signal())).hash).toBe(list.hash);
  });
});

describe('datasets', () => {
  const made = (id: string) => changeWith('pool.dataset.create', [{ name: id }], { id, type: 'FILESYSTEM' });

  it('that are missing or new have nothing below them', async () => {
    expect(await dataset('tank/vms/a')).toBeUndefined();
    expect(await datasetReads(async () => expect(await dataset('tank/vms/a/boot')).toBeUndefined())).toBe(0);
    await made('tank/vms/a');
    expect(await datasetReads(async () => expect(await dataset('tank/vms/a')).toBeDefined())).toBe(0);
    expect(await datasetReads(async () => expect(await dataset('tank/vms/a/boot')).toBeUndefined())).toBe(0);
    await made('tank/vms/a/boot');
    expect(await datasetReads(async () => expect(await dataset('tank/vms/a/boot')).toBeDefined())).toBe(0);
    // A dataset that was found may have anything below it.
    await dataset('tank/vms');
    expect(await datasetReads(() => dataset('tank/vms/b'))).toBe(1);
  });

  it('that were made with one below them are not taken for missing', async () => {
    expect(await dataset('tank/a')).toBeUndefined();
    await made('tank/a/b/c');
    datasets.push('tank/a', 'tank/a/b', 'tank/a/b/c', 'tank/a/b/d');
    expect([await dataset('tank/a'), await dataset('tank/a/b/d')].map((one) => one?.id)).toEqual([
      'tank/a',
      'tank/a/b/d',
    ]);
  });

  it('that are changed keep what is known of what lies below, and are read again when the answer tells nothing', async () => {
    await made('tank/vms/a');
    await changeWith('pool.dataset.update', ['tank/vms/a', {}], {
      id: 'tank/vms/a',
      type: 'FILESYSTEM',
      comments: { rawvalue: 'x' },
    });
    const look = async () => expect((await dataset('tank/vms/a'))?.comments?.rawvalue).toBe('x');
    expect([await datasetReads(look), await datasetReads(() => dataset('tank/vms/a/boot'))]).toEqual([0, 0]);
    await changeWith('pool.dataset.update', ['tank/vms/a', {}], null);
    expect(await datasetReads(() => dataset('tank/vms/a'))).toBe(1);
  });

  it('that were new once are not taken for empty later', async () => {
    await made('tank/vms/a');
    await made('tank/vms/a/boot');
    datasets.push('tank/vms/a', 'tank/vms/a/boot');
    await at.clock.advance(14_000);
    await changeWith('pool.dataset.update', ['tank/vms/a', {}], { id: 'tank/vms/a', type: 'FILESYSTEM' });
    await at.clock.advance(2000);
    expect(await datasetReads(() => dataset('tank/vms/a'))).toBe(0);
    expect(await datasetReads(async () => expect(await dataset('tank/vms/a/boot')).toBeDefined())).toBe(1);
  });

  it('that are deleted are read again, with everything below them', async () => {
    await made('tank/vms/a');
    await made('tank/vms/a/boot');
    const beside = (folder: string) => datasetReads(() => answerOf(informer.datasets.beside([folder], {}, signal())));
    expect([await beside('tank/vms/a'), await beside('tank/vms/b')]).toEqual([1, 0]);
    await change('pool.dataset.delete', ['tank/vms/a']);
    expect(await datasetReads(async () => expect(await dataset('tank/vms/a/boot')).toBeUndefined())).toBe(1);
    // The list counts for other machines.
    expect([await beside('tank/vms/b'), await beside('tank/vms/a')]).toEqual([0, 1]);
  });

  it('are assumed to be missing only where nothing is known', async () => {
    for (const id of ['tank/vms', 'tank/other']) {
      if (id === 'tank/vms') await dataset(id);
      informer.datasets.assumeMissing(id);
    }
    const look = async () =>
      expect([(await dataset('tank/vms'))?.id, await dataset('tank/other')]).toEqual(['tank/vms', undefined]);
    expect(await datasetReads(look)).toBe(0);
  });
});

describe('a requested stop', () => {
  const stopped = async () => {
    const [seen] = await answerOf(named(1));
    await change('vm.stop', [1]);
    informer.vms.rememberStop(seen as Vm, 77, 1000);
    return () => informer.vms.pendingStop('uuid-1');
  };

  it('that has ended well makes a machine that is off, without a read', async () => {
    vms = [vm(1, { status: { state: 'RUNNING' } })];
    const pending = (await stopped())();
    expect(pending).toMatchObject({ job: 77, observeAt: 1000, vm: { id: 1 } });
    if (pending) informer.vms.noteStopped(pending);
    expect(await vmReads(async () => expect(await state(1)).toBe('STOPPED'))).toBe(0);
    // It keeps its former age.
    await at.clock.advance(15_000);
    expect(await vmReads(() => state(1))).toBe(1);
  });

  it.each([
    ['once the machine was started again', () => change('vm.start', [1])],
    ['once something is in doubt', async () => informer.outdateAll()],
    ['a quarter of a minute after the machine was read', () => at.clock.advance(15_000)],
    ['when it is not waited for any more', async () => informer.vms.forgetStop(vm(1))],
  ])('proves nothing %s', async (_, happen) => {
    const pending = await stopped();
    expect(pending()).toBeDefined();
    await happen();
    expect(pending()).toBeUndefined();
  });

  it('counts for longer when the machine was read again and is still shutting down', async () => {
    const pending = await stopped();
    await at.clock.advance(14_000);
    const [seen] = await answerOf(named(1));
    informer.vms.delayStop(seen as Vm, 29_000);
    await at.clock.advance(10_000);
    expect(pending()).toMatchObject({ job: 77, observeAt: 29_000 });
  });
});
