import { expect, it } from 'vitest';
import { annotations } from '../../../src/api/names.ts';
import type { RetainedResource } from '../../../src/engine/capabilities/garbage.ts';
import type { Facts } from '../../../src/engine/step.ts';
import { truenas } from '../../../src/platforms/truenas/index.ts';
import { parseDatasetRef } from '../../../src/platforms/truenas/resources/dataset/dataset-ref.ts';
import { diskKeyStore } from '../../support/harness/simulated-provider-process.ts';
import { testedReleases } from './baseline-run.ts';
import {
  changingCallPattern,
  type MachineRecord,
  nasFixture,
  startTrueNasPlatformFixture,
  TrueNasProviderProcess,
  useTrueNasPlatformFixture,
} from './true-nas-platform-fixture.ts';

useTrueNasPlatformFixture();

const ours = { installation: 'installation-1', provider: 'talos' };
const machine = 'shop-cp-0';
const change = { sizes: [{ name: 'small', cpus: 2, memoryMiB: 4096, diskGiB: 40, encrypted: true }] };
const call = async (method: string, ...params: unknown[]) => (await nasFixture.login()).call(method, ...params);

async function makeMachine(): Promise<{
  readonly facts: Facts;
  readonly notes: Record<string, string>;
  release(): Promise<void>;
}> {
  const durable: MachineRecord = { progress: undefined };
  await new TrueNasProviderProcess().walk('provision', machine, durable, change);
  const { facts } = durable.progress!;
  const notes = diskKeyStore.secrets.get(`${machine}-disk-key`)?.metadata.annotations ?? {};
  const release = async () => void (await new TrueNasProviderProcess().walk('release', machine, durable, change));
  return { facts, notes, release };
}

/** The retained resources of whose machine nothing is left. */
async function collectOnce(kept: readonly Omit<RetainedResource, 'machine'>[]): Promise<string[]> {
  const retained = kept.map((one) => ({ ...one, machine }));
  const context = {
    ...new TrueNasProviderProcess().context('none', {}, change),
    failureDomain: undefined,
    instance: ours,
  };
  nasFixture.switchboard.calls.length = 0;
  const unneeded = (await truenas.garbage?.findUnneeded?.(context, retained)) ?? [];
  expect(nasFixture.switchboard.calls.filter(({ name }) => changingCallPattern.test(name))).toEqual([]);
  return unneeded.map(({ description }) => description);
}

it.each(testedReleases)(
  'T26: a key and an address are released where nothing of the machine is left, on TrueNAS %s',
  async (version) => {
    await startTrueNasPlatformFixture({ version });
    const { facts, notes, release } = await makeMachine();
    const system = String(facts['system']);
    expect(notes[annotations.madeOn]).toBe(system);
    const roots = String(notes[annotations.opens]).split(',');
    expect(roots.map((one) => parseDatasetRef(one).dataset)).toEqual([facts['dataset']]);
    const all = [
      { description: 'key', system, roots },
      { description: 'address', system, roots },
      { description: 'an address of which nobody knows description lies there', system },
      { description: 'of another system', system: 'other', roots },
      { description: 'of another pool of that name', system, roots: [`1:${facts['dataset']}`] },
    ];
    expect(await collectOnce(all), 'all is there').toEqual([]);
    await release();
    expect(await collectOnce(all)).toEqual(['key', 'address']);
    await call('pool.dataset.create', { name: String(facts['dataset']), create_ancestors: true });
    expect(await collectOnce(all), 'a dataset of the name, whoever made it').toEqual([]);
    await call('pool.dataset.delete', String(facts['dataset']));
    await nasFixture.simulator.setPoolStatus('tank', 'OFFLINE');
    expect(await collectOnce(all), 'its pool cannot be seen').toEqual([]);
  },
);

it('T26: an address stays as long as a virtual machine of the name or the ownership mark exists', async () => {
  await startTrueNasPlatformFixture();
  const { facts, release } = await makeMachine();
  await release();
  const roots = String(facts['roots']).split(',');
  const address = { description: 'address', system: String(facts['system']), roots };
  const { id } = await call('vm.create', { name: String(facts['vm']), memory: 512 });
  expect(await collectOnce([address])).toEqual([]);
  await call('vm.delete', id);
  expect(await collectOnce([address])).toEqual(['address']);
});
