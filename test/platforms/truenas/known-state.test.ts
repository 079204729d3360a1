import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { Clock } from '../../../src/lib/clock.ts';
import type { RawClient } from '../../simulators/truenas/testing/true-nas-fixture.ts';
import { realPath } from '../../world/truenas/storage/dataset-files.ts';
import { clockWithoutExpiry, markJoined, provisionUpTo, subscribeToChanges } from './baseline-run.ts';
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

/** Names of the calls of a machine, in their order, but for those about jobs. */
async function callsOf(work: () => Promise<unknown>): Promise<readonly string[]> {
  nasFixture.switchboard.calls.length = 0;
  await work();
  return nasFixture.switchboard.calls.map(({ name }) => name).filter((name) => !/^(auth|core)\./.test(name));
}

/** Runs foreign work before the nth call of `name` takes effect. */
function interfereAtCall(name: string, nth: number, work: () => Promise<unknown>): () => Promise<unknown> {
  let seen = 0;
  let done: Promise<unknown> = Promise.resolve();
  nasFixture.switchboard.onCall((call) => {
    if (call.name !== name) return;
    seen += 1;
    if (seen === nth) done = work();
  });
  return () => done;
}

const hashOf = (file: string) => createHash('sha256').update(readFileSync(file)).digest('hex');

describe('reads of a machine without interference', () => {
  it.each([
    ['25.04.2', 0],
    ['25.10', 0],
    // Its answer to a deletion proves nothing.
    ['26', 1],
  ])('are five from nothing to a member and back, on TrueNAS %s and %i more', async (version, more) => {
    await startTrueNasPlatformFixture({ version });
    const process = new TrueNasProviderProcess(clockWithoutExpiry);
    await process.walk('provision', 'warm-up', { progress: undefined });
    const durable: MachineRecord = { progress: undefined };
    const looks = async (plan: 'provision' | 'release') => {
      const calls = await callsOf(() => process.walk(plan, 'shop-cp-0', durable));
      return calls.filter((name) => /(query|stat)$/.test(name));
    };
    // The boot image, and whether a machine has its name, its UUID or one of its MAC addresses.
    expect(await looks('provision')).toEqual(['filesystem.stat', 'vm.query']);
    markJoined(durable);
    const [asked, ...proofs] = await looks('release');
    expect(asked).toBe('vm.query');
    // Two at the same time prove that everything may be deleted.
    expect(proofs.slice(0, 2).sort()).toEqual(['pool.dataset.query', 'vm.query']);
    expect(proofs.slice(2)).toEqual(Array(more).fill('pool.dataset.query'));
  });
});

/** A clock that advances on demand. */
function steppableClock() {
  let aheadMs = 0;
  const time: Clock = { ...clockWithoutExpiry, monotonic: () => performance.now() + aheadMs };
  const leap = (seconds: number) => {
    aheadMs += seconds * 1000;
  };
  return { time, leap };
}

/** Provisions with a process that has run for a while, and with foreign work at the nth call of that name. */
async function provisionWithInterference(
  name: string,
  nth: number,
  work: (client: RawClient) => Promise<unknown>,
  time = clockWithoutExpiry,
) {
  await startTrueNasPlatformFixture();
  const process = new TrueNasProviderProcess(time);
  await process.walk('provision', 'warm-up', { progress: undefined });
  const client = await nasFixture.login();
  const done = interfereAtCall(name, nth, () => work(client));
  // Enough latency for foreign work in between.
  nasFixture.simulator.setLatency('vm.device.create', 20);
  const durable: MachineRecord = { progress: undefined };
  const finish = async () => {
    const verdict = await process.walk('provision', 'shop-cp-0', durable);
    await done();
    return verdict;
  };
  return { process, durable, finish };
}

const deviceOf = (machine: string, dtype: string) =>
  [...nasFixture.simulator.nas.devices.values()].find(
    (one) => one.vm === vmOf(machine)?.id && one.attributes['dtype'] === dtype,
  );
const loseDisk = (client: RawClient) => client.call('vm.device.delete', deviceOf('shop-cp-0', 'DISK')?.id);

describe('a value that was found or created more than a minute ago', () => {
  it('T31: is read again: an image that was exchanged meanwhile is not attached', async () => {
    const { time, leap } = steppableClock();
    let right = '';
    let file = '';
    const { finish } = await provisionWithInterference(
      'POST /_upload',
      1,
      async () => {
        file = realPath(nasFixture.simulator.nas, String(deviceOf('warm-up', 'CDROM')?.attributes['path']));
        right = hashOf(file);
        writeFileSync(file, 'another image');
        leap(61);
      },
      time,
    );
    let booted: string | undefined;
    nasFixture.switchboard.onCall(({ name }) => {
      if (name === 'vm.device.create') booted ??= hashOf(file);
    });
    expect(await finish()).toMatchObject({ kind: 'finished' });
    expect(booted).toBe(right);
  });

  it('is read again: a device that was removed meanwhile is attached again before the start', async () => {
    const { time, leap } = steppableClock();
    const lose = async (client: RawClient) => {
      await loseDisk(client);
      leap(61);
    };
    const { finish } = await provisionWithInterference('vm.device.create', 2, lose, time);
    expect(await finish()).toMatchObject({ kind: 'finished' });
    expect(nasFixture.runner.started.at(-1)?.disks).toHaveLength(1);
  });

  it('is read again: a stop that took so long proves nothing for a deletion', async () => {
    const { time, leap } = steppableClock();
    const { process, durable, finish } = await provisionWithInterference('vm.stop', 1, async () => leap(61), time);
    await finish();
    markJoined(durable);
    const calls = await callsOf(() => process.walk('release', 'shop-cp-0', durable));
    expect(calls.slice(0, 4)).toEqual(['vm.query', 'vm.stop', 'vm.query', 'vm.delete']);
  });
});

describe('a value that a step has passed on', () => {
  it('is not used after a failure: the next attempt reads again', async () => {
    await startTrueNasPlatformFixture();
    await new TrueNasProviderProcess().walk('provision', 'warm-up', { progress: undefined });
    nasFixture.switchboard.fail('truenas', /^vm\.device\.create$/, { kind: 'lose-reply' }, 1);
    const calls = await callsOf(() =>
      new TrueNasProviderProcess().walk('provision', 'shop-cp-0', { progress: undefined }),
    );
    const struck = calls.indexOf('vm.device.create');
    const later = calls.slice(struck + 1);
    expect(later.slice(0, later.indexOf('vm.device.create'))).toContain('vm.query');
    expect(stateSummary()).toMatchObject({ devices: 8 });
  });

  it.each([
    ['disk-created', 'pool.dataset.query'],
    ['devices-attached', 'vm.query'],
    ['powered-on', 'vm.query'],
  ])('is not available after a restart in %s, which begins with %s', async (step, look) => {
    await startTrueNasPlatformFixture();
    const durable = await provisionUpTo(step);
    const calls = await callsOf(() =>
      new TrueNasProviderProcess(clockWithoutExpiry).walk('provision', 'shop-cp-0', durable),
    );
    expect(calls.find((name) => !/memory/.test(name))).toBe(look);
  });

  it('is not used once the system has reported a foreign change', async () => {
    const { process, finish } = await provisionWithInterference('vm.device.create', 2, loseDisk);
    await subscribeToChanges(process);
    expect(await finish()).toMatchObject({ kind: 'finished' });
    expect(nasFixture.runner.started.at(-1)?.disks).toHaveLength(1);
  });

  it.each([
    ['the connection broke', () => nasFixture.simulator.restart()],
    ['the job of its stop failed', async () => void nasFixture.simulator.failNextJob('vm.stop', 'it broke')],
  ])('does not prove that a machine is off when %s', async (_, strike) => {
    const { process, durable, finish } = await provisionWithInterference('vm.stop', 1, strike);
    await finish();
    markJoined(durable);
    const calls = await callsOf(() => process.walk('release', 'shop-cp-0', durable));
    expect(calls.slice(0, 3)).toEqual(['vm.query', 'vm.stop', 'vm.query']);
    expect(vmOf('shop-cp-0')).toBeUndefined();
  });

  it('S24: is refuted by a machine whose record was lost: its objects are found, and nothing is created twice', async () => {
    await startTrueNasPlatformFixture();
    const process = new TrueNasProviderProcess(clockWithoutExpiry);
    await process.walk('provision', 'shop-cp-0', { progress: undefined });
    const before = stateSummary();
    // The process that made them still knows them; for another one its first creation is refused.
    for (const [who, expected] of [
      [process, []],
      [new TrueNasProviderProcess(clockWithoutExpiry), ['pool.dataset.create']],
    ] as const) {
      const calls = await callsOf(() => who.walk('provision', 'shop-cp-0', { progress: undefined }));
      expect(stateSummary()).toEqual(before);
      expect(calls.filter((name) => name.endsWith('.create'))).toEqual(expected);
    }
  });

  it('S24: does not make a foreign object of our name in between ours', async () => {
    await startTrueNasPlatformFixture();
    const first: MachineRecord = { progress: undefined };
    await new TrueNasProviderProcess().walk('provision', 'shop-cp-0', first);
    await new TrueNasProviderProcess().walk('release', 'shop-cp-0', first);
    const name = String(first.progress?.facts['dataset']);
    const client = await nasFixture.login();
    const done = interfereAtCall('filesystem.stat', 1, () =>
      client.call('pool.dataset.create', { name, comments: 'mine' }),
    );
    const verdict = await new TrueNasProviderProcess(clockWithoutExpiry).walk('provision', 'shop-cp-0', {
      progress: undefined,
    });
    await done();
    expect(verdict).toMatchObject({ kind: 'failed', reason: 'OwnedByOthers' });
    expect(stateSummary().datasets.filter((id) => id.startsWith(name))).toEqual([name]);
  });

  it('S47: proves nothing to a deletion: a later user of the disk is not disturbed', async () => {
    await startTrueNasPlatformFixture();
    const durable: MachineRecord = { progress: undefined };
    await new TrueNasProviderProcess().walk('provision', 'shop-cp-0', durable);
    markJoined(durable);
    const client = await nasFixture.login();
    const { id: vm } = await client.call('vm.create', { name: 'other', memory: 1024 });
    const path = `/dev/zvol/${durable.progress?.facts['dataset']}/boot`;
    const done = interfereAtCall('vm.delete', 1, () =>
      client.call('vm.device.create', { vm, attributes: { dtype: 'DISK', path } }),
    );
    const verdict = await new TrueNasProviderProcess(clockWithoutExpiry).walk('release', 'shop-cp-0', durable);
    await done();
    expect(verdict).toMatchObject({ kind: 'failed', reason: 'DatasetInUse' });
    expect([vmOf('shop-cp-0'), stateSummary().datasets.filter((id) => id.endsWith('/boot')).length]).toEqual([
      undefined,
      1,
    ]);
  });
});
