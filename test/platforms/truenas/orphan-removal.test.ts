import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { machineName } from '../../../src/api/names.ts';
import { immediateFaults } from '../../e2e/fault-sweep/faults.ts';
import { isFullSweep, rotateInjectors, sweepSeed } from '../../e2e/fault-sweep/sampling.ts';
import { OrphanRemovalFixture } from './orphan-removal-fixture.ts';
import {
  changingCallPattern,
  dumpWithoutImageCache,
  type MachineRecord,
  nasFixture,
  startTrueNasPlatformFixture,
  TrueNasProviderProcess,
  toJsonText,
  useTrueNasPlatformFixture,
} from './true-nas-platform-fixture.ts';

useTrueNasPlatformFixture();

let fixture: OrphanRemovalFixture;
beforeAll(async () => {
  fixture = await OrphanRemovalFixture.open();
});
afterAll(async () => await fixture.close());
beforeEach(async () => await fixture.reset());

/** A machine without a Machine. */
async function leaveOrphan(machine: string, change: object = {}): Promise<string> {
  const durable: MachineRecord = { progress: undefined };
  await new TrueNasProviderProcess().walk('provision', machine, durable, change);
  return String(durable.progress?.facts['vm']);
}
const remainingState = () => toJsonText(dumpWithoutImageCache());
const listedMessages = async () => (await fixture.orphans()).map(({ machine, message }) => `${machine}: ${message}`);

/** Mutating calls on the system during `work`. */
async function changesOf(work: () => Promise<unknown>): Promise<string[]> {
  nasFixture.switchboard.calls.length = 0;
  await work();
  return nasFixture.switchboard.calls.map(({ name }) => name).filter((name) => changingCallPattern.test(name));
}

describe('an orphan that is idle', () => {
  it('G14: is removed after a day, by any number of processes, and nothing else', async () => {
    await startTrueNasPlatformFixture();
    await leaveOrphan('shop-cp-1');
    const before = remainingState();
    const vm = await leaveOrphan('shop-cp-0');
    await fixture.machine('shop-cp-1');
    await nasFixture.simulator.powerOff(vm);
    expect(await changesOf(() => fixture.look())).toEqual([]);
    expect(await changesOf(() => fixture.watch(31))).toEqual([]);
    expect(await listedMessages()).toEqual([
      expect.stringMatching(/^shop-cp-0: It is removed at 2026-11-22T00:00:00Z/),
    ]);
    fixture.wait(0.75);
    expect(await changesOf(() => fixture.settle())).toEqual(['vm.delete', 'pool.dataset.delete']);
    expect(remainingState()).toBe(before);
    expect([await fixture.orphans(), fixture.messages]).toEqual([
      [],
      ['OrphanFound', 'OrphanRemoval', 'OrphanRemoved'],
    ]);
  });

  it('restarts its day after a start by hand', async () => {
    await startTrueNasPlatformFixture();
    const vm = await leaveOrphan('shop-cp-0');
    await nasFixture.simulator.powerOff(vm);
    await fixture.look();
    await fixture.watch(27);
    const client = await nasFixture.login();
    const [{ id }] = await client.call('vm.query', [['name', '=', vm]]);
    await client.call('vm.start', id);
    await fixture.look();
    expect(await listedMessages()).toEqual([expect.stringMatching(/^shop-cp-0: It runs, or its state is unknown\./)]);
    await nasFixture.simulator.powerOff(vm);
    await fixture.look();
    expect(await changesOf(() => fixture.watch(27))).toEqual([]);
  });

  it('restarts its day after an absence of the provider: its activity meanwhile is unknown', async () => {
    await startTrueNasPlatformFixture();
    await nasFixture.simulator.powerOff(await leaveOrphan('shop-cp-0'));
    await fixture.look();
    fixture.wait(48);
    expect(await changesOf(() => fixture.look())).toEqual([]);
    expect(await listedMessages()).toEqual([
      expect.stringMatching(/^shop-cp-0: It is removed at 2026-11-24T00:00:00Z/),
    ]);
  });

  it('stays when it is started between the scan and the removal', async () => {
    await startTrueNasPlatformFixture();
    const vm = await leaveOrphan('shop-cp-0');
    await nasFixture.simulator.powerOff(vm);
    await fixture.look();
    await fixture.watch(31);
    fixture.wait(0.75);
    const client = await nasFixture.login();
    const [{ id }] = await client.call('vm.query', [['name', '=', vm]]);
    await fixture.look(undefined, {}, () => client.call('vm.start', id));
    expect((await client.call('vm.status', id)).state).toBe('RUNNING');
    expect(await fixture.orphans()).toEqual([expect.not.objectContaining({ removal: expect.anything() })]);
  });

  it('stays as long as an address is claimed for it, or its Cluster exists', async () => {
    await startTrueNasPlatformFixture();
    const named = machineName({ namespace: 'team', name: 'prod' }, 'cp', 0);
    await nasFixture.simulator.powerOff(await leaveOrphan(named));
    await nasFixture.simulator.powerOff(await leaveOrphan('shop-cp-0'));
    await fixture.cluster();
    await fixture.claim('shop-cp-0');
    await fixture.look();
    fixture.wait(48);
    expect(await changesOf(() => fixture.look())).toEqual([]);
    expect(await listedMessages()).toEqual([
      expect.stringContaining('Whether Cluster team/prod needs it is unknown'),
      expect.stringMatching(/^shop-cp-0: The address 192\.168\.10\.77 is claimed for it\./),
    ]);
    await fixture.ask(`${named}, shop-cp-0`);
    await fixture.settle();
    expect((await fixture.orphans()).map(({ machine }) => machine)).toEqual([named]);
    expect([await fixture.holder(), fixture.messages.includes('OrphanKept')]).toEqual([undefined, true]);
  });
});

describe('an orphan that runs', () => {
  it('is never removed automatically', async () => {
    await startTrueNasPlatformFixture();
    await leaveOrphan('shop-cp-0');
    await fixture.look();
    fixture.wait(1000);
    expect(await changesOf(() => fixture.look())).toEqual([]);
    expect(fixture.messages).toEqual(['OrphanFound']);
  });

  it('is removed with all its disks, on other pools too, on request', async () => {
    await startTrueNasPlatformFixture({ seed: { pools: [{ name: 'tank' }, { name: 'fast' }] } });
    const disks = [
      { name: 'data', sizeGiB: 20 },
      { name: 'cache', sizeGiB: 20, pool: 'fast' },
    ];
    const change = { sizes: [{ name: 'small', cpus: 2, memoryMiB: 4096, diskGiB: 40, disks }] };
    const vm = await leaveOrphan('shop-cp-0', change);
    await fixture.look(undefined, change);
    const [orphan] = await fixture.orphans();
    for (const part of ['tank', 'fast']) expect(orphan?.resources).toContain(`zvol ${part}/talos/${vm}/disk-`);
    await fixture.ask('shop-cp-0');
    await fixture.settle(undefined, change);
    expect(toJsonText(nasFixture.simulator.dump().datasets)).not.toContain(vm);
    expect([nasFixture.simulator.nas.vms.size, await fixture.orphans()]).toEqual([0, []]);
  });

  it('T26: that is encrypted is deleted while it is locked, and its key with it', async () => {
    await startTrueNasPlatformFixture();
    const before = remainingState();
    const key = (await fixture.diskKey('shop-cp-0').ensure({ system: '', roots: [] })).reveal();
    const sizes = [{ name: 'small', cpus: 2, memoryMiB: 4096, diskGiB: 40, encrypted: true }];
    await leaveOrphan('shop-cp-0', { sizes });
    expect((await fixture.diskKey('shop-cp-0').read()).reveal()).toBe(key);
    await nasFixture.simulator.restart({ hostReboot: true });
    await fixture.look();
    await fixture.ask('shop-cp-0');
    await fixture.settle();
    expect([remainingState() === before, await fixture.orphans()]).toEqual([true, []]);
    await expect(fixture.diskKey('shop-cp-0').read()).rejects.toMatchObject({ code: 'DISK_KEY_MISSING' });
  });

  it('is not touched any more once there is a Machine of its name', async () => {
    await startTrueNasPlatformFixture();
    await leaveOrphan('shop-cp-0');
    await fixture.look();
    await fixture.ask('shop-cp-0');
    // It may take a minute to shut down.
    nasFixture.runner.minding = false;
    await fixture.look();
    expect(await fixture.orphans()).toMatchObject([{ removal: { step: 'powered-off', facts: { requested: true } } }]);
    await fixture.machine('shop-cp-0');
    expect(await changesOf(() => fixture.settle())).toEqual([]);
    await fixture.look();
    expect([await fixture.orphans(), nasFixture.simulator.nas.vms.size]).toEqual([[], 1]);
  });
});

describe(`faults and crashes (SWEEP=${sweepSeed})`, () => {
  /** A requested removal; returns its TrueNAS calls. */
  async function remove(process = new TrueNasProviderProcess()): Promise<string[]> {
    const calls: string[] = [];
    const hush = nasFixture.switchboard.onCall(({ simulator: where, name }) => {
      if (where === 'truenas' && !/^(core|auth|system)\./.test(name)) calls.push(name);
    });
    await fixture.settle(process).finally(hush);
    return calls;
  }

  it('T47: with a fault in a call of a removal, or the process killed at it, it has the same result', async () => {
    await startTrueNasPlatformFixture();
    const empty = remainingState();
    await leaveOrphan('shop-cp-0');
    await fixture.ask('shop-cp-0');
    const calls = await remove();
    expect(remainingState()).toBe(empty);
    const ways = Object.values(immediateFaults);
    for (const [at, name] of calls.entries()) {
      if (!isFullSweep && (at + sweepSeed) % 2 > 0) continue;
      const where = `${name}, call ${at}`;
      await leaveOrphan('shop-cp-0');
      await fixture.claim('shop-cp-0');
      await fixture.ask('shop-cp-0');
      const process = new TrueNasProviderProcess();
      let seen = 0;
      const hush = nasFixture.switchboard.judge((call) => {
        if (call.simulator !== 'truenas' || /^(core|auth|system)\./.test(call.name)) return undefined;
        seen += 1;
        if (seen !== at + 1) return undefined;
        if (Math.floor((at + sweepSeed) / 2) % 2 === 0) void process.kill();
        return rotateInjectors(ways, at).strike(call, where);
      });
      await remove(process).catch((error: unknown) => {
        if (!process.stop.signal.aborted) throw error;
      });
      hush();
      if (process.stop.signal.aborted) await remove();
      expect([remainingState(), await fixture.orphans(), await fixture.holder()], where).toEqual([
        empty,
        [],
        undefined,
      ]);
      await process.kill();
    }
  }, 180_000);
});
