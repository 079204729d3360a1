import { describe, expect, it } from 'vitest';

import {
  type MachineRecord,
  nasFixture,
  startTrueNasPlatformFixture,
  TrueNasProviderProcess,
  useTrueNasPlatformFixture,
} from './true-nas-platform-fixture.ts';

useTrueNasPlatformFixture();

describe('problems that need a manual repair', () => {
  it('T21: a lack of space at the last moment is reported, and the creation continues when there is space', async () => {
    await startTrueNasPlatformFixture();
    const durable: MachineRecord = { progress: undefined };
    const process = new TrueNasProviderProcess();
    const client = await nasFixture.login();
    const hush = nasFixture.switchboard.judge(({ name }) => {
      if (name !== 'pool.dataset.create' || durable.progress?.step !== 'disk-created') return undefined;
      return { kind: 'error', code: 'ENOSPC' };
    });
    expect(await process.walk('provision', 'shop-cp-0', durable)).toMatchObject({
      kind: 'failed',
      reason: 'TRUENAS_POOL_FULL',
    });
    hush();
    expect(await client.call('vm.query')).toEqual([]);
    await nasFixture.simulator.fillPool('tank', 500 * 2 ** 30);
    expect(await process.walk('provision', 'shop-cp-0', durable)).toMatchObject({ kind: 'finished' });
  });

  it('T41, S12: a machine in a state unknown to TrueNAS is left for a manual decision, and is deleted by force', async () => {
    await startTrueNasPlatformFixture();
    const durable: MachineRecord = { progress: undefined };
    const first = new TrueNasProviderProcess();
    const hush = nasFixture.switchboard.onCall(({ name }) => {
      if (name === 'vm.start') void first.kill();
    });
    await first.walk('provision', 'shop-cp-0', durable).catch(() => {});
    hush();
    await nasFixture.simulator.powerOff(String(durable.progress?.facts['vm']));
    Object.assign(nasFixture.simulator.nas, { hasKvm: false });
    expect(await new TrueNasProviderProcess().walk('provision', 'shop-cp-0', durable)).toMatchObject({
      kind: 'failed',
      reason: 'TRUENAS_VM_BROKEN',
      message: expect.stringContaining('ERROR'),
    });
    expect(nasFixture.simulator.nas.vms.size).toBe(1);
    expect(await new TrueNasProviderProcess().walk('release', 'shop-cp-0', durable)).toMatchObject({
      kind: 'finished',
    });
    expect(nasFixture.simulator.nas.vms.size).toBe(0);
  });

  it('another system under truenas.url does not count as an empty one', async () => {
    await startTrueNasPlatformFixture();
    const durable: MachineRecord = { progress: undefined };
    const process = new TrueNasProviderProcess();
    await process.walk('provision', 'shop-cp-0', durable);
    durable.progress = { ...durable.progress!, facts: { ...durable.progress!.facts, system: 'other.example.org' } };
    const { vms, datasets } = nasFixture.simulator.nas;
    const kept = { vms: [...vms], datasets: [...datasets] };
    vms.clear();
    for (const id of [...datasets.keys()]) if (id.includes('shop_cp_0')) datasets.delete(id);
    expect(await process.walk('release', 'shop-cp-0', durable)).toMatchObject({
      kind: 'failed',
      reason: 'SystemChanged',
    });
    for (const [id, vm] of kept.vms) vms.set(id, vm);
    for (const [id, dataset] of kept.datasets) datasets.set(id, dataset);
    expect(await process.walk('release', 'shop-cp-0', durable)).toMatchObject({ kind: 'finished' });
  });
});
