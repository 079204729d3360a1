import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { AdvanceResult } from '../../../src/engine/advance.ts';
import {
  type MachineRecord,
  nasFixture,
  startTrueNasPlatformFixture,
  stateSummary,
  TrueNasProviderProcess,
  useTrueNasPlatformFixture,
  vmOf,
} from './true-nas-platform-fixture.ts';

useTrueNasPlatformFixture();

const gibibyte = 2 ** 30;
const isShort = (verdict: AdvanceResult) => 'reason' in verdict && verdict.reason === 'InsufficientMemory';
const callsOf = (name: string) => nasFixture.switchboard.calls.filter((call) => call.name === name).length;
const memoryFor = async (machines: number) => {
  const client = await nasFixture.login();
  const available = z.number().parse(await client.call('vm.get_available_memory'));
  expect(Math.floor(available / (4 * gibibyte))).toBe(machines);
};

describe('memory on a TrueNAS system', () => {
  it('T19, G17, S21: of twenty machines at once as many start as fit, and nothing is created for the others', async () => {
    await startTrueNasPlatformFixture({ seed: { memoryMiB: 25_600 } });
    await memoryFor(5);
    const process = new TrueNasProviderProcess();
    const lives = Array.from({ length: 20 }, (_, i) => ({ name: `shop-${i}`, durable: { progress: undefined } }));
    const verdicts = await Promise.all(
      lives.map(({ name, durable }) => process.walk('provision', name, durable, {}, isShort)),
    );
    expect(verdicts.filter(({ kind }) => kind === 'finished')).toHaveLength(5);
    const waiting = verdicts.filter(isShort);
    expect(waiting).toHaveLength(15);
    for (const verdict of waiting) {
      expect(verdict).toMatchObject({
        kind: 'waiting',
        progress: { step: 'resources-reserved', failures: 0 },
        seconds: 30,
      });
      expect(verdict).toHaveProperty(
        'message',
        expect.stringMatching(/ can guarantee .* this machine takes 4\.0 GiB\./),
      );
    }
    expect([callsOf('vm.create'), callsOf('vm.start')]).toEqual([5, 5]);
    expect(stateSummary().vms).toHaveLength(5);

    const done = lives[verdicts.findIndex(({ kind }) => kind === 'finished')]!;
    const next = lives[verdicts.findIndex(isShort)]!;
    await process.walk('release', done.name, done.durable);
    expect(await process.walk('provision', next.name, next.durable)).toMatchObject({ kind: 'finished' });
    expect(callsOf('vm.start')).toBe(6);
  });

  it('T20: a lack of memory at the start is reported once, and the machine waits unchanged', async () => {
    await startTrueNasPlatformFixture({ seed: { memoryMiB: 8192 } });
    const client = await nasFixture.login();
    const other = await client.call('vm.create', { name: 'other', memory: 4096 });
    const hush = nasFixture.switchboard.onCall(({ name }) => {
      if (name === 'vm.device.create' && !nasFixture.simulator.nas.vms.get(other.id)?.guest)
        void client.ask('vm.start', other.id);
    });
    const durable: MachineRecord = { progress: undefined };
    const process = new TrueNasProviderProcess();
    const verdict = await process.walk('provision', 'shop-cp-0', durable);
    hush();
    expect(verdict).toMatchObject({ kind: 'failed', reason: 'TRUENAS_MEMORY_SHORT', seconds: 600 });
    expect(await process.walk('provision', 'shop-cp-0', durable, {}, isShort)).toMatchObject({
      kind: 'waiting',
      progress: { step: 'powered-on' },
    });
    await client.call('vm.poweroff', other.id);
    expect(await process.walk('provision', 'shop-cp-0', durable)).toMatchObject({ kind: 'finished' });
    expect(callsOf('vm.create')).toBe(2);
  });

  it('a machine that stops for another reason reserves no memory', async () => {
    await startTrueNasPlatformFixture({ seed: { memoryMiB: 8192 } });
    await memoryFor(1);
    const process = new TrueNasProviderProcess();
    const stalled: MachineRecord = { progress: undefined };
    const hush = nasFixture.switchboard.judge(({ name }) => {
      if (name !== 'pool.dataset.create' || stalled.progress?.step !== 'disk-created') return undefined;
      return { kind: 'error', code: 'ENOSPC' };
    });
    expect(await process.walk('provision', 'shop-cp-0', stalled)).toMatchObject({ reason: 'TRUENAS_POOL_FULL' });
    hush();
    await nasFixture.simulator.fillPool('tank', 500 * gibibyte);
    expect(await process.walk('provision', 'shop-cp-1', { progress: undefined })).toMatchObject({ kind: 'finished' });
    expect(await process.walk('provision', 'shop-cp-0', stalled, {}, isShort)).toMatchObject({
      reason: 'InsufficientMemory',
    });
    expect(vmOf('shop-cp-0')).toBeUndefined();
  });

  it('neither does a machine that is given up during its creation', async () => {
    await startTrueNasPlatformFixture({ seed: { memoryMiB: 8192 } });
    const process = new TrueNasProviderProcess();
    const given: MachineRecord = { progress: undefined };
    nasFixture.switchboard.fail('truenas', /^vm\.create$/, { kind: 'drop' });
    const verdict = await process.walk('provision', 'shop-cp-0', given, {}, ({ kind }) => kind === 'error');
    expect(verdict.progress.step).toBe('vm-created');
    const other: MachineRecord = { progress: undefined };
    expect(await process.walk('provision', 'shop-cp-1', other, {}, isShort)).toMatchObject({
      reason: 'InsufficientMemory',
    });
    await process.walk('release', 'shop-cp-0', given);
    expect(await process.walk('provision', 'shop-cp-1', other)).toMatchObject({ kind: 'finished' });
  });
});
