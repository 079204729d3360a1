import { describe, expect, it } from 'vitest';
import { asProvisioned } from '../../../src/controllers/machine/repair/conclude-repair.ts';
import type { AdvanceResult } from '../../../src/engine/advance.ts';
import { truenas } from '../../../src/platforms/truenas/index.ts';
import { vmIdentityOf } from '../../../src/platforms/truenas/resources/identity.ts';
import { MemberFixture, provisionMember } from './member-fixture.ts';
import {
  fixtureClock,
  type MachineRecord,
  nasFixture,
  platformConfig,
  startTrueNasPlatformFixture,
  TrueNasProviderProcess,
  useTrueNasPlatformFixture,
  vmOf,
} from './true-nas-platform-fixture.ts';

useTrueNasPlatformFixture();

const seed = { bridges: ['br0', 'br1'], interfaces: [{ name: 'vlan50', type: 'VLAN' }] };
const sized = (more: object) => ({ sizes: [{ ...platformConfig().sizes[0], ...more }] });
const hardware = truenas.hardware!;

/** One run of the provider that changes the hardware of a member. */
class HardwareProcess extends TrueNasProviderProcess {
  async change(durable: MachineRecord, change: object, isDone = (_: AdvanceResult) => false): Promise<AdvanceResult> {
    const result = await this.follow({
      ...{ plan: 'update', steps: [...hardware.admission, ...hardware.steps], machine: 'shop-cp-0', durable },
      context: (facts) => this.context('shop-cp-0', facts, change),
      pause: (seconds) => Math.min(seconds, 5),
      until: isDone,
    });
    if (result.kind === 'finished') durable.progress = asProvisioned(result.progress, fixtureClock.now());
    return result;
  }

  compare(durable: MachineRecord, change: object) {
    return hardware.compare(this.context('shop-cp-0', durable.progress?.facts ?? {}, change));
  }
}

const bigger = { cpus: 4, threads: 2, cpuModel: 'EPYC-Rome', memoryMiB: 8192, cards: [{ bridge: 'vlan50' }] };
const lastStart = () => nasFixture.runner.started.at(-1);
const rowOf = () => vmOf('shop-cp-0')?.row ?? {};

describe('the hardware of a machine on TrueNAS', () => {
  it('D11: is compared with its size, and changed while the machine is off', async () => {
    await startTrueNasPlatformFixture({ seed });
    const durable = await provisionMember(sized({ cards: [{ bridge: 'br1' }, { bridge: 'br0' }] }));
    const process = new HardwareProcess();
    const change = sized(bigger);
    expect(await process.compare(durable, change)).toEqual({
      running: '2 CPUs (host), 4096 MiB, cards at br1, br0',
      changes: ['size.cpus', 'size.threads', 'size.cpuModel', 'size.memoryMiB', 'size.cards'].map((field) => ({
        ...{ field, class: 'hardware' },
      })),
    });
    const before = lastStart();
    expect(await process.change(durable, change)).toMatchObject({ kind: 'finished' });
    expect(await process.compare(durable, change)).toEqual({
      running: '4 CPUs (EPYC-Rome, 2 threads for each core), 8192 MiB, cards at vlan50',
      changes: [],
    });
    expect(lastStart()).toMatchObject({ vcpus: 4, memoryMiB: 8192, cpuModel: 'EPYC-Rome' });
    expect(lastStart()?.nics.map(({ bridge }) => bridge)).toEqual(['br0', 'vlan50']);
    expect(lastStart()?.nics[1]?.mac).toBe(before?.nics[1]?.mac);
    expect(await process.change(durable, sized({}))).toMatchObject({ kind: 'finished' });
    expect(rowOf()).toMatchObject({ cpu_mode: 'HOST-PASSTHROUGH', cpu_model: null, memory: 4096, threads: 1 });
    expect(lastStart()?.nics).toHaveLength(1);
  });

  it('D11: disks that cannot be changed in place need another machine', async () => {
    await startTrueNasPlatformFixture({ seed });
    const disks = [{ name: 'data', sizeGiB: 20, raw: false }];
    const durable = await provisionMember(sized({ disks }));
    const process = new HardwareProcess();
    const changesFor = async (more: object) => (await process.compare(durable, sized(more))).changes;
    expect(await changesFor({ disks })).toEqual([]);
    expect(await changesFor({ disks: [{ ...disks[0], sizeGiB: 40 }] })).toEqual([]);
    for (const other of [
      [{ ...disks[0], sizeGiB: 10 }],
      [{ ...disks[0], raw: true }],
      [...disks, { ...disks[0], name: 'more' }],
      [],
    ])
      expect(await changesFor({ disks: other })).toEqual([{ field: 'size.disks', class: 'replace' }]);
    const { changes } = await process.compare(durable, { ...sized({ disks }), pool: 'fast' });
    expect(changes).toEqual([{ field: 'truenas.pool', class: 'replace' }]);
  });

  it('D11: a repair restores the present cards and starts no machine that is off for its hardware', async () => {
    await startTrueNasPlatformFixture({ seed });
    const change = sized({ memoryMiB: 6144, cards: [{ bridge: 'br1' }] });
    const member = new MemberFixture(await provisionMember(), {}, change);
    expect(await member.rest()).toMatchObject({ reasons: [] });
    const process = new HardwareProcess();
    await process.change(member.durable, change, () => vmOf('shop-cp-0')?.guest === undefined);
    const starts = nasFixture.runner.started.length;
    member.process = new TrueNasProviderProcess();
    member.durable.progress = asProvisioned(member.durable.progress!, fixtureClock.now());
    expect((await member.once()).reasons).toEqual(['PoweredOff']);
    expect(nasFixture.runner.started).toHaveLength(starts);
    expect(await process.change(member.durable, change)).toMatchObject({ kind: 'finished' });
    member.process = new TrueNasProviderProcess();
    expect(await member.rest()).toMatchObject({ reasons: [] });
    expect(lastStart()).toMatchObject({ memoryMiB: 6144 });
  });

  it('D11: is left as it is while the system lacks the memory for it', async () => {
    await startTrueNasPlatformFixture({ seed: { ...seed, memoryMiB: 12_288 } });
    const durable = await provisionMember();
    const isShort = (result: AdvanceResult) => 'reason' in result && result.reason === 'InsufficientMemory';
    const result = await new HardwareProcess().change(durable, sized({ memoryMiB: 16_384 }), isShort);
    expect(result).toMatchObject({
      progress: { step: 'hardware-admitted' },
      message: expect.stringMatching(/this machine takes 12\.4 GiB more to start with its new hardware\./),
    });
    expect(vmOf('shop-cp-0')?.guest).toBeDefined();
  });

  it('D11: is left as it is while another virtual machine has the MAC address of its new card', async () => {
    await startTrueNasPlatformFixture({ seed });
    const durable = await provisionMember();
    const process = new HardwareProcess();
    const { furtherMacs } = vmIdentityOf(process.context('shop-cp-0', durable.progress!.facts) as never);
    const client = await nasFixture.login();
    const other = await client.call('vm.create', { name: 'other', memory: 1024 });
    const attributes = { dtype: 'NIC', mac: furtherMacs[0], nic_attach: 'br0' };
    await client.call('vm.device.create', { vm: other.id, attributes });
    const change = sized({ cards: [{ bridge: 'br1' }] });
    expect(await process.change(durable, change)).toMatchObject({ kind: 'failed', reason: 'MacTaken' });
    expect(vmOf('shop-cp-0')?.guest).toBeDefined();
  });

  it('D11: ends the same when the process is killed at any call', async () => {
    await startTrueNasPlatformFixture({ seed });
    const change = sized(bigger);
    const durable = await provisionMember();
    let calls = 0;
    const count = nasFixture.switchboard.onCall(() => (calls += 1));
    expect(await new HardwareProcess().change(durable, change)).toMatchObject({ kind: 'finished' });
    count();
    for (let at = 0; at < calls; at += 1) {
      const desired = at % 2 === 0 ? sized({}) : change;
      const process = new HardwareProcess();
      let seen = 0;
      const hush = nasFixture.switchboard.onCall(() => {
        if (seen === at) void process.kill();
        seen += 1;
      });
      const starts = nasFixture.runner.started.length;
      await process.change(durable, desired).catch(() => undefined);
      hush();
      await process.kill();
      const next = new HardwareProcess();
      expect(await next.change(durable, desired), `killed at call ${at}`).toMatchObject({ kind: 'finished' });
      expect((await next.compare(durable, desired)).changes).toEqual([]);
      expect(vmOf('shop-cp-0')?.guest).toBeDefined();
      expect(nasFixture.runner.started.length - starts, `killed at call ${at}`).toBe(1);
      await next.kill();
    }
  }, 120_000);
});
