import { describe, expect, it } from 'vitest';
import type { Facts } from '../../../src/engine/step.ts';
import { truenas } from '../../../src/platforms/truenas/index.ts';
import { clockWithoutExpiry, testedReleases } from './baseline-run.ts';
import {
  dumpNas,
  fixtureClock,
  type MachineRecord,
  nasFixture,
  startTrueNasPlatformFixture,
  TrueNasProviderProcess,
  toJsonText,
  useTrueNasPlatformFixture,
  vmOf,
} from './true-nas-platform-fixture.ts';

useTrueNasPlatformFixture();

const call = async (method: string, ...params: unknown[]) => (await nasFixture.login()).call(method, ...params);
const destroy = (id: string) => call('pool.dataset.delete', id, { recursive: true });

async function makeMachine(process: TrueNasProviderProcess, machine = 'shop-cp-0'): Promise<Facts> {
  const durable: MachineRecord = { progress: undefined };
  await process.walk('provision', machine, durable);
  return durable.progress!.facts;
}

/** The observation, as the reasons and the messages of its drift. */
async function observeReasons(process: TrueNasProviderProcess, facts: Facts, change: object = {}) {
  const { drift, ...rest } = await truenas.observe(process.context('shop-cp-0', facts, change));
  return { ...rest, reasons: drift.map(({ reason }) => reason), words: drift.map(({ message }) => message).join(' ') };
}

/** The fingerprint of the machine in an observation of several machines. */
async function observeInBulk(facts: Facts, process = new TrueNasProviderProcess()): Promise<string | undefined> {
  const { owner, ...context } = process.context('shop-cp-0', {});
  const other = {
    owner: { ...owner, machine: 'shop-cp-1' },
    facts: { ...facts, vm: 'other', dataset: 'tank/talos/x' },
  };
  const fingerprints = await truenas.monitor.observeAll?.({
    ...context,
    failureDomain: undefined,
    machines: [other, { owner, facts }],
  });
  expect(fingerprints).toHaveLength(2);
  return fingerprints?.[1];
}

const name = (facts: Facts) => String(facts['vm']);
const row = () => vmOf('shop-cp-0')!.row;
const withoutDisk = (facts: Facts) =>
  nasFixture.simulator.loseDevice(
    name(facts),
    ({ dtype, path }) => dtype === 'DISK' && path === `/dev/zvol/${facts['dataset']}/boot`,
  );

type Case = [string, (facts: Facts) => unknown, object, RegExp];
const runningState = { exists: true, runs: true };
const stoppedState = { exists: true, runs: false };
const cases: Case[] = [
  [
    'switched off by hand',
    (facts) => nasFixture.simulator.powerOff(name(facts)),
    { ...stoppedState, reasons: ['PoweredOff'] },
    /off/,
  ],
  ['suspended', () => call('vm.suspend', 1), { exists: true, reasons: ['Suspended'] }, /suspended/],
  [
    'in an unknown state',
    () => Object.assign(nasFixture.simulator.nas, { hasKvm: false }),
    { exists: true, reasons: ['StateUnknown'] },
    /the state ERROR/,
  ],
  [
    'deleted by hand',
    (facts) => nasFixture.simulator.loseVm(name(facts)),
    { exists: false, reasons: ['VmGone'] },
    /no virtual machine/i,
  ],
  ['without its disk', withoutDisk, { ...runningState, reasons: ['DeviceMissing'] }, /boot disk/],
  [
    'without its network card',
    (facts) => nasFixture.simulator.loseDevice(name(facts), ({ dtype }) => dtype === 'NIC'),
    { ...runningState, reasons: ['DeviceMissing'] },
    /network card is missing/,
  ],
  [
    'with its card at another bridge',
    () => {
      for (const { attributes } of nasFixture.simulator.nas.devices.values())
        if (attributes['dtype'] === 'NIC') Object.assign(attributes, { nic_attach: 'br9' });
    },
    { ...runningState, reasons: ['CardMoved'] },
    /attached to br9 and not to br0/,
  ],
  [
    'renamed',
    () => Object.assign(row(), { name: 'mine' }),
    { ...runningState, reasons: ['Renamed'] },
    /renamed from \w+ to mine/,
  ],
  [
    'with a disc before its disk',
    () => {
      for (const device of nasFixture.simulator.nas.devices.values())
        if (device.attributes['dtype'] === 'CDROM') Object.assign(device, { order: 1 });
    },
    { ...runningState, reasons: ['BootOrder'] },
    /before its disk/,
  ],
  [
    'whose pool is degraded',
    () => nasFixture.simulator.setPoolStatus('tank', 'DEGRADED'),
    { ...runningState, reasons: ['PoolDegraded'] },
    /tank is DEGRADED/,
  ],
  [
    'whose pool is suspended',
    () => nasFixture.simulator.setPoolStatus('tank', 'SUSPENDED'),
    { ...runningState, reasons: ['PoolFaulted'] },
    /tank is SUSPENDED/,
  ],
  [
    'whose pool was not found',
    () => nasFixture.simulator.setPoolStatus('tank', 'OFFLINE'),
    { ...stoppedState, reasons: ['PoolFaulted', 'PoweredOff'] },
    /tank is OFFLINE/,
  ],
  [
    'whose pool was removed',
    () => nasFixture.simulator.nas.pools.delete('tank'),
    { reasons: expect.arrayContaining(['PoolGone']) },
    /The pool tank no longer exists/,
  ],
  [
    'whose dataset was deleted',
    async (facts) => {
      await nasFixture.simulator.powerOff(name(facts));
      await destroy(String(facts['dataset']));
    },
    { ...stoppedState, reasons: ['DatasetGone', 'PoweredOff'] },
    /Delete the Machine/,
  ],
  [
    'whose disk was deleted',
    async (facts) => {
      await nasFixture.simulator.powerOff(name(facts));
      await destroy(`${facts['dataset']}/boot`);
    },
    { ...stoppedState, reasons: ['DiskGone', 'PoweredOff'] },
    /Delete the Machine/,
  ],
  [
    'whose dataset lost its ownership mark',
    async ({ dataset }) => {
      const keys = ['installation', 'provider', 'machine'].map((key) => ({
        key: `openmcp.talos:${key}`,
        remove: true,
      }));
      await call('pool.dataset.update', dataset, { user_properties_update: keys, comments: 'INHERIT' });
    },
    { ...runningState, reasons: ['OwnedByOthers'] },
    /no longer has our mark/,
  ],
  [
    'that exists twice',
    (facts) => call('vm.create', { name: 'copy', memory: 1024, uuid: facts['uuid'], autostart: false }),
    { exists: true, reasons: ['VmTwice'] },
    /shop_cp_0_\w+ \(1\) and copy \(2\)/,
  ],
  [
    'whose name a foreign machine has by now',
    async (facts) => {
      await nasFixture.simulator.loseVm(name(facts));
      await call('vm.create', { name: facts['vm'], memory: 1024, autostart: false });
    },
    { exists: false, reasons: ['VmGone'] },
    /without our mark, which is not changed/,
  ],
];

describe('a machine that is observed', () => {
  it.each(cases)('T41, T42: %s is reported as that, by three calls', async (_, breakIt, expected, words) => {
    await startTrueNasPlatformFixture();
    const facts = await makeMachine(new TrueNasProviderProcess());
    const before = await observeInBulk(facts);
    expect(before).toMatch(/^[\w-]{16}$/);
    await breakIt(facts);
    expect(await observeInBulk(facts)).not.toBe(before);
    const process = new TrueNasProviderProcess(clockWithoutExpiry);
    const inBulk = new TrueNasProviderProcess(clockWithoutExpiry);
    const fingerprint = await observeInBulk(facts, inBulk);
    const told = { ...expected, fingerprint, words: expect.stringMatching(words) };
    nasFixture.switchboard.calls.length = 0;
    expect(await observeReasons(process, facts)).toMatchObject(told);
    const queries = () =>
      nasFixture.switchboard.calls.map(({ name }) => name).filter((name) => !name.startsWith('auth.'));
    expect(queries().sort()).toEqual(['pool.dataset.query', 'pool.query', 'vm.query']);
    // Where the observation of all machines has read the system, nothing is read again.
    expect(await observeReasons(inBulk, facts)).toMatchObject(told);
    expect(queries()).toHaveLength(3);
  });

  it('T42: one whose dataset is locked after a reboot of the system is off, and the reason is reported', async () => {
    await startTrueNasPlatformFixture();
    const passphrase = 'correct horse';
    const options = { encryption: true, inherit_encryption: false, encryption_options: { passphrase } };
    await call('pool.dataset.create', { name: 'tank/talos', ...options });
    const process = new TrueNasProviderProcess();
    const facts = await makeMachine(process);
    await nasFixture.simulator.restart({ hostReboot: true });
    expect(await observeReasons(new TrueNasProviderProcess(), facts)).toMatchObject({
      ...stoppedState,
      reasons: ['DatasetLocked', 'PoweredOff'],
    });
  });

  it('T42: is not reported as gone by another system under truenas.url', async () => {
    await startTrueNasPlatformFixture();
    const process = new TrueNasProviderProcess();
    const facts: Facts = { ...(await makeMachine(process)), system: 'other.example.org' };
    await nasFixture.simulator.loseVm(name(facts));
    await destroy(String(facts['dataset']));
    expect(await observeReasons(process, facts)).toMatchObject({ exists: false, reasons: ['SystemChanged'] });
  });
});

describe.each(testedReleases)('on TrueNAS %s', (version) => {
  it('T42: one with another id after a restored backup is recognized by its UUID; a machine newer than the backup is gone', async () => {
    await startTrueNasPlatformFixture({ version });
    const process = new TrueNasProviderProcess();
    const facts = await makeMachine(process);
    const { id } = vmOf('shop-cp-0')!;
    const backup = await nasFixture.simulator.backUp();
    const younger = await makeMachine(process, 'shop-cp-1');
    const brought = backup.vms.map((vm) => ({ ...vm, id: vm.id + 40 }));
    const devices = backup.devices.map((device) => ({ ...device, vm: device.vm + 40 }));
    await nasFixture.simulator.restore({ ...backup, vms: brought, devices });
    expect(vmOf('shop-cp-0')!.id).toBe(id + 40);
    expect(await observeReasons(process, facts)).toMatchObject({ ...runningState, reasons: [] });
    const seen = await truenas.observe(process.context('shop-cp-1', younger));
    expect(seen).toMatchObject({ exists: false, drift: [{ reason: 'VmGone' }] });
  });

  it('S23, T42: two installations with the same names on one system observe only their own machines', async () => {
    await startTrueNasPlatformFixture({ version });
    const process = new TrueNasProviderProcess();
    const facts = await makeMachine(process);
    const theirs = { ...process.context('shop-cp-0', {}).owner, installation: 'installation-2' };
    const others = (known: Facts) => ({ ...process.context('shop-cp-0', known), owner: theirs });
    expect(await truenas.observe(others({}))).toMatchObject({ exists: false });
    const before = toJsonText(dumpNas());
    expect(await observeReasons(process, facts)).toMatchObject({ ...runningState, reasons: [] });
    expect(toJsonText(dumpNas())).toBe(before);
  });

  it('T42: one that the system has started again after a reboot is unchanged', async () => {
    await startTrueNasPlatformFixture({ version });
    const process = new TrueNasProviderProcess();
    const facts = await makeMachine(process);
    await nasFixture.simulator.restart({ hostReboot: true });
    expect(await observeReasons(new TrueNasProviderProcess(), facts)).toMatchObject({ ...runningState, reasons: [] });
    expect(nasFixture.runner.started).toHaveLength(2);
  });
});

it('the fingerprint of an idle machine does not depend on other machines, free space and times', async () => {
  await startTrueNasPlatformFixture();
  const facts = await makeMachine(new TrueNasProviderProcess());
  const before = await observeInBulk(facts);
  await makeMachine(new TrueNasProviderProcess(), 'shop-cp-1');
  await call('pool.dataset.create', { name: 'tank/others' });
  expect(await observeInBulk(facts)).toBe(before);
});

it('a machine that becomes idle between two equal observations is observed as well, and so is a later change', async () => {
  await startTrueNasPlatformFixture();
  const [one, other] = [
    await makeMachine(new TrueNasProviderProcess()),
    await makeMachine(new TrueNasProviderProcess(), 'shop-cp-1'),
  ];
  const { owner, ...context } = new TrueNasProviderProcess().context('shop-cp-0', {});
  const both = [
    { owner, facts: one },
    { owner: { ...owner, machine: 'shop-cp-1' }, facts: other },
  ];
  const see = async (machines: typeof both) =>
    (await truenas.monitor.observeAll?.({ ...context, failureDomain: undefined, machines })) ?? [];
  const [alone] = await see(both.slice(0, 1));
  const together = await see(both);
  expect(together).toEqual([alone, expect.stringMatching(/./)]);
  expect(together[1]).not.toBe(alone);
  expect(await see([...both].reverse())).toEqual([...together].reverse());
  await nasFixture.simulator.powerOff(String(other['vm']));
  expect(await see(both)).toEqual([alone, expect.not.stringMatching(together[1] ?? '')]);
});

it('a hundred concurrent observations are three calls, and our own change invalidates them', async () => {
  await startTrueNasPlatformFixture();
  const facts = await makeMachine(new TrueNasProviderProcess());
  const process = new TrueNasProviderProcess();
  const still = { ...fixtureClock, monotonic: () => 0 };
  const see = () => truenas.observe({ ...process.context('shop-cp-0', facts), clock: still });
  nasFixture.switchboard.calls.length = 0;
  await Promise.all(Array.from({ length: 100 }, see));
  await see();
  const looks = nasFixture.switchboard.calls.filter(({ name }) => name.endsWith('.query'));
  expect(looks).toHaveLength(3);
  await truenas.release[0]?.run({ ...process.context('shop-cp-0', facts), clock: still });
  expect(await see()).toMatchObject({ exists: true, runs: false });
});
