import { describe, expect, it } from 'vitest';
import { truenas } from '../../../src/platforms/truenas/index.ts';
import {
  checkPlatformConfig,
  dumpNas,
  fixtureClock,
  type MachineRecord,
  nasFixture,
  startTrueNasPlatformFixture,
  TrueNasProviderProcess,
  toJsonText,
  useTrueNasPlatformFixture,
} from './true-nas-platform-fixture.ts';

useTrueNasPlatformFixture();

const gibibyte = 2 ** 30;
const furtherPools = ['fast', 'slow'];
const change = { furtherPools };
const pool = (name: string, sizeGiB: number, more: object = {}) => ({ name, sizeBytes: sizeGiB * gibibyte, ...more });
const call = async (method: string, ...params: unknown[]) => (await nasFixture.login()).call(method, ...params);

/** The pool of a machine. */
const poolOf = ({ progress }: MachineRecord): string => String(progress?.facts['dataset']).split('/')[0] ?? '';
async function makeMachine(
  machine: string,
  by: object = change,
  process = new TrueNasProviderProcess(),
): Promise<MachineRecord> {
  const durable: MachineRecord = { progress: undefined };
  expect(await process.walk('provision', machine, durable, by)).toMatchObject({ kind: 'finished' });
  return durable;
}

describe('the pool of a machine', () => {
  it('T27, G19: is the one of several with most space, and stays when another has more or is named first', async () => {
    await startTrueNasPlatformFixture({ seed: { pools: [pool('tank', 200), pool('fast', 500), pool('slow', 300)] } });
    const before = toJsonText(dumpNas().vms);
    const sizes = [{ name: 'small', cpus: 2, memoryMiB: 4096, diskGiB: 40, disks: [{ name: 'data', sizeGiB: 20 }] }];
    const durable: MachineRecord = { progress: undefined };
    const first = new TrueNasProviderProcess();
    const hush = nasFixture.switchboard.onCall(({ name }) => {
      if (name === 'pool.dataset.create' && durable.progress?.step === 'disk-created') void first.kill();
    });
    await first.walk('provision', 'shop-cp-0', durable, { ...change, sizes }).catch(() => {});
    hush();
    expect(poolOf(durable)).toBe('fast');
    await nasFixture.simulator.fillPool('fast', 350 * gibibyte);
    const other = { pool: 'slow', furtherPools: ['tank'], sizes };
    expect(await new TrueNasProviderProcess().walk('provision', 'shop-cp-0', durable, other)).toMatchObject({
      kind: 'finished',
    });
    const { dataset } = durable.progress!.facts;
    for (const name of ['boot', 'disk-data'])
      expect(nasFixture.simulator.nas.datasets.has(`${dataset}/${name}`)).toBe(true);
    expect(await new TrueNasProviderProcess().walk('release', 'shop-cp-0', durable, other)).toMatchObject({
      kind: 'finished',
    });
    expect(toJsonText(dumpNas().vms)).toBe(before);
    expect([...nasFixture.simulator.nas.datasets.keys()].filter((id) => id.includes('shop_cp_0'))).toEqual([]);
  });

  it('S4: is chosen by the usable space below the prefix, including quotas, not by the free space of the pool', async () => {
    await startTrueNasPlatformFixture({ seed: { pools: [pool('tank', 200), pool('fast', 900), pool('slow', 150)] } });
    await call('pool.dataset.create', { name: 'fast/talos', quota: 100 * gibibyte });
    expect(poolOf(await makeMachine('shop-cp-0'))).toBe('tank');
  });

  it('T27: accounts for machines created at once whose space is not reserved yet', async () => {
    await startTrueNasPlatformFixture({ seed: { pools: [pool('tank', 400), pool('fast', 400), pool('slow', 350)] } });
    const process = new TrueNasProviderProcess();
    const names = ['a-0', 'a-1', 'a-2', 'a-3', 'a-4'];
    const made = await Promise.all(names.map((name) => makeMachine(name, change, process)));
    expect(made.map(poolOf).sort()).toEqual(['fast', 'fast', 'slow', 'tank', 'tank']);
  });

  it('T27: is none that is faulted, locked, or missing', async () => {
    await startTrueNasPlatformFixture({
      seed: { pools: [pool('tank', 200), pool('fast', 900, { status: 'FAULTED' }), pool('slow', 500)] },
    });
    const options = { encryption: true, inherit_encryption: false, encryption_options: { passphrase: 'a good one' } };
    await call('pool.dataset.create', { name: 'slow/talos', ...options });
    await (await nasFixture.login()).job('pool.dataset.lock', 'slow/talos');
    expect(poolOf(await makeMachine('shop-cp-0', { furtherPools: [...furtherPools, 'none'] }))).toBe('tank');
    expect(await checkPlatformConfig(new TrueNasProviderProcess(), { furtherPools: ['none'] })).toMatchObject([
      { field: 'truenas.furtherPools[0]', reason: 'PoolUnknown' },
    ]);
  });

  it('is not chosen when there is but one: pools are queried once for all machines, for their guids', async () => {
    await startTrueNasPlatformFixture();
    // By the fixture's clock ten minutes pass quickly.
    const process = new TrueNasProviderProcess({ ...fixtureClock, monotonic: () => performance.now() });
    for (const machine of ['shop-cp-0', 'shop-cp-1']) await process.walk('provision', machine, { progress: undefined });
    expect(nasFixture.switchboard.calls.filter(({ name }) => name === 'pool.query')).toHaveLength(1);
  });

  it('S4: is predicted in the same way', async () => {
    await startTrueNasPlatformFixture({ seed: { pools: [pool('tank', 100), pool('fast', 100)] } });
    const context = new TrueNasProviderProcess().context('none', {}, { furtherPools: ['fast'] });
    const machine = { name: 'shop-cp-0', role: 'controlplane', size: 'small' } as const;
    const foresee = (machines: number) =>
      truenas.preflight({
        ...context,
        failureDomain: undefined,
        machines: Array.from({ length: machines }, () => machine),
        talos: context.node.talos,
        isPoolAddress: () => false,
      });
    expect(await foresee(4)).toEqual([]);
    expect(await foresee(5)).toMatchObject([{ field: 'truenas.pool', reason: 'InsufficientDiskSpace' }]);
  });

  it('is where an orphan is found and removed', async () => {
    await startTrueNasPlatformFixture({ seed: { pools: [pool('tank', 200), pool('fast', 500), pool('slow', 100)] } });
    const durable = await makeMachine('shop-cp-0');
    await nasFixture.simulator.powerOff(String(durable.progress?.facts['vm']));
    const context = new TrueNasProviderProcess().context('shop-cp-0', {}, change);
    const ours = { installation: context.owner.installation, provider: context.owner.provider };
    const [orphan] = await truenas.garbage!.orphans!.find({
      ...context,
      failureDomain: undefined,
      instance: ours,
      isKnown: () => false,
    });
    expect(orphan).toMatchObject({ facts: { dataset: durable.progress?.facts['dataset'] } });
    expect(orphan).not.toHaveProperty('doubt');
    for (const step of truenas.garbage!.orphans!.remove) await step.run({ ...context, facts: orphan?.facts ?? {} });
    expect([...nasFixture.simulator.nas.datasets.keys()].filter((id) => id.includes('shop_cp_0'))).toEqual([]);
    expect(nasFixture.simulator.nas.vms.size).toBe(0);
  });
});
