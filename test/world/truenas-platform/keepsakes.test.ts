import { expect, it } from 'vitest';
import { annotations } from '../../../src/api/names.ts';
import type { Facts } from '../../../src/engine/platform.ts';
import type { Keepsake } from '../../../src/engine/tidy.ts';
import { truenas } from '../../../src/platforms/truenas/index.ts';
import { parsePinned } from '../../../src/platforms/truenas/pinned-roots.ts';
import { keyRoom } from '../../support/process-life.ts';
import { versions } from './rehearsal.ts';
import { changing, type Durable, Process, room, start, useScene } from './scene.ts';

useScene();

const ours = { installation: 'installation-1', provider: 'talos' };
const machine = 'shop-cp-0';
const change = { sizes: [{ name: 'small', cpus: 2, memoryMiB: 4096, diskGiB: 40, encrypted: true }] };
const call = async (method: string, ...params: unknown[]) => (await room.login()).call(method, ...params);

async function made(): Promise<{
  readonly facts: Facts;
  readonly notes: Record<string, string>;
  release(): Promise<void>;
}> {
  const durable: Durable = { progress: undefined };
  await new Process().walk('provision', machine, durable, change);
  const { facts } = durable.progress!;
  const notes = keyRoom.secrets.get(`${machine}-disk-key`)?.metadata.annotations ?? {};
  const release = async () => void (await new Process().walk('release', machine, durable, change));
  return { facts, notes, release };
}

/** What is let go in one round of those that are kept. */
async function tidy(kept: readonly Omit<Keepsake, 'letGo' | 'machine'>[]): Promise<string[]> {
  const gone: string[] = [];
  const keepsakes = kept.map((one) => ({
    ...{ ...one, machine },
    letGo: async () => gone.push(one.what) > 0,
  }));
  const context = { ...new Process().context('none', {}, change), site: undefined, ours };
  room.switchboard.calls.length = 0;
  await truenas.tidy?.({ ...context, needed: async () => undefined, keepsakes: async () => keepsakes });
  expect(room.switchboard.calls.filter(({ name }) => changing.test(name))).toEqual([]);
  return gone;
}

it.each(versions)(
  'T26: a key and an address are let go where nothing of the machine is left, on TrueNAS %s',
  async (version) => {
    await start({ version });
    const { facts, notes, release } = await made();
    const system = String(facts['system']);
    expect(notes[annotations.madeOn]).toBe(system);
    const roots = String(notes[annotations.opens]).split(',');
    expect(roots.map((one) => parsePinned(one).dataset)).toEqual([facts['dataset']]);
    const all = [
      { what: 'key', system, roots },
      { what: 'address', system, roots },
      { what: 'an address of which nobody knows what lies there', system },
      { what: 'of another system', system: 'other', roots },
      { what: 'of another pool of that name', system, roots: [`1:${facts['dataset']}`] },
    ];
    expect(await tidy(all), 'all is there').toEqual([]);
    await release();
    expect(await tidy(all)).toEqual(['key', 'address']);
    await call('pool.dataset.create', { name: String(facts['dataset']), create_ancestors: true });
    expect(await tidy(all), 'a dataset of the name, whoever made it').toEqual([]);
    await call('pool.dataset.delete', String(facts['dataset']));
    await room.room.setPoolStatus('tank', 'OFFLINE');
    expect(await tidy(all), 'its pool cannot be seen').toEqual([]);
  },
);

it('T26: an address stays as long as a virtual machine of the name or the mark is there', async () => {
  await start();
  const { facts, release } = await made();
  await release();
  const roots = String(facts['roots']).split(',');
  const address = { what: 'address', system: String(facts['system']), roots };
  const { id } = await call('vm.create', { name: String(facts['vm']), memory: 512 });
  expect(await tidy([address])).toEqual([]);
  await call('vm.delete', id);
  expect(await tidy([address])).toEqual(['address']);
});
