import { afterEach, describe, expect, it } from 'vitest';
import { truenas } from '../../../src/platforms/truenas/index.ts';
import { startTrueNasFixture, type TrueNasFixture } from '../../simulators/truenas/testing/true-nas-fixture.ts';
import { diskKeyStore } from '../../support/harness/simulated-provider-process.ts';
import { provisionUpTo } from './baseline-run.ts';
import {
  addressClaims,
  changingCallPattern,
  dumpWithoutImageCache,
  factoryUrl,
  type MachineRecord,
  nasFixture,
  startTrueNasPlatformFixture,
  stateSummary,
  TrueNasProviderProcess,
  toJsonText,
  useNas,
  useTrueNasPlatformFixture,
} from './true-nas-platform-fixture.ts';

useTrueNasPlatformFixture();

let otherNas: TrueNasFixture | undefined;
afterEach(async () => {
  useNas(undefined);
  await otherNas?.close();
  otherNas = undefined;
});

const machine = 'shop-cp-0';
const call = async (method: string, ...params: unknown[]) => (await nasFixture.login()).call(method, ...params);
const release = (durable: MachineRecord) => new TrueNasProviderProcess().walk('release', machine, durable);
const factOf = ({ progress }: MachineRecord, name: string) => String(progress?.facts[name]);

async function newMachine(change: object = {}): Promise<MachineRecord> {
  const durable: MachineRecord = { progress: undefined };
  await new TrueNasProviderProcess().walk('provision', machine, durable, change);
  expect(addressClaims.has(machine)).toBe(true);
  return durable;
}

/**
 * Makes the name of the system point to another one from now on, with a pool of the same name. Returns how to undo it.
 */
async function replaceSystem(durable: MachineRecord): Promise<() => void> {
  otherNas = await startTrueNasFixture();
  const { line } = otherNas.simulator;
  const { user = '', apiKey = '' } = line.credentials;
  useNas({ url: line.url, ca: otherNas.ca, user, apiKey, factoryUrl });
  const former = factOf(durable, 'system');
  const callIt = (system: string) => {
    durable.progress = { ...durable.progress!, facts: { ...durable.progress!.facts, system } };
  };
  callIt(new URL(line.url).host);
  return () => {
    useNas(undefined);
    callIt(former);
  };
}
const changes = ({ switchboard }: TrueNasFixture) =>
  switchboard.calls.filter(({ name }) => changingCallPattern.test(name));

describe('a machine of which nothing is found', () => {
  it('is not released by another system of the same name', async () => {
    await startTrueNasPlatformFixture();
    const before = toJsonText(dumpWithoutImageCache());
    const durable = await newMachine();
    const leadBack = await replaceSystem(durable);
    expect(await release(durable)).toMatchObject({
      ...{ kind: 'failed', reason: 'SystemChanged' },
      message: expect.stringMatching(/was created on pools that \S+ does not have: tank \(guid \d+\)/),
    });
    expect([addressClaims.has(machine), stateSummary().vms]).toEqual([true, [factOf(durable, 'vm')]]);
    leadBack();
    expect(await release(durable)).toMatchObject({ kind: 'finished' });
    expect([addressClaims.has(machine), toJsonText(dumpWithoutImageCache())]).toEqual([false, before]);
  });

  it('is not released by another system with a restored database, which knows its virtual machine and not its disks', async () => {
    await startTrueNasPlatformFixture();
    const durable = await newMachine();
    await replaceSystem(durable);
    const client = await otherNas?.login();
    await client?.call('vm.create', { name: factOf(durable, 'vm'), uuid: factOf(durable, 'uuid'), memory: 512 });
    expect(await release(durable)).toMatchObject({ kind: 'failed', reason: 'SystemChanged' });
    expect([addressClaims.has(machine), stateSummary().vms]).toEqual([true, [factOf(durable, 'vm')]]);
  });

  it('is not released where its system was replaced between two steps', async () => {
    await startTrueNasPlatformFixture();
    const before = toJsonText(dumpWithoutImageCache());
    const durable = await newMachine();
    const { progress } = durable;
    durable.progress = { ...progress!, plan: 'release', step: 'storage-deleted' } as typeof progress;
    delete (durable.progress as { finishedAt?: string }).finishedAt;
    const leadBack = await replaceSystem(durable);
    expect(await release(durable)).toMatchObject({ kind: 'failed', reason: 'SystemChanged' });
    leadBack();
    expect(await release(durable)).toMatchObject({ kind: 'finished' });
    expect([addressClaims.has(machine), toJsonText(dumpWithoutImageCache())]).toEqual([false, before]);
  });

  it('is not released where its pool is not visible', async () => {
    await startTrueNasPlatformFixture();
    const before = toJsonText(dumpWithoutImageCache());
    const durable = await newMachine();
    await nasFixture.simulator.loseVm(factOf(durable, 'vm'));
    await nasFixture.simulator.setPoolStatus('tank', 'OFFLINE');
    expect(await release(durable)).toMatchObject({ kind: 'failed', reason: 'PoolFaulted' });
    expect(addressClaims.has(machine)).toBe(true);
    await nasFixture.simulator.setPoolStatus('tank', 'ONLINE');
    expect(await release(durable)).toMatchObject({ kind: 'finished' });
    expect([addressClaims.has(machine), toJsonText(dumpWithoutImageCache())]).toEqual([false, before]);
  });

  it('is not released where one of its pools is gone', async () => {
    await startTrueNasPlatformFixture({ seed: { pools: [{ name: 'tank' }, { name: 'fast' }] } });
    const disks = [{ name: 'cache', sizeGiB: 20, pool: 'fast' }];
    const durable = await newMachine({ sizes: [{ name: 'small', cpus: 2, memoryMiB: 4096, diskGiB: 40, disks }] });
    const roots = factOf(durable, 'roots').replace(/\d+(?=:fast)/, '1');
    durable.progress = { ...durable.progress!, facts: { ...durable.progress!.facts, roots } };
    await nasFixture.simulator.loseVm(factOf(durable, 'vm'));
    expect(await release(durable)).toMatchObject({
      ...{ kind: 'failed', reason: 'PoolGone', message: expect.stringContaining('fast (guid 1)') },
    });
    expect(addressClaims.has(machine)).toBe(true);
  });

  it('is released where its own system answers with all of its pools: it was removed by hand', async () => {
    await startTrueNasPlatformFixture();
    const before = toJsonText(dumpWithoutImageCache());
    const durable = await newMachine();
    await call('vm.poweroff', Number(factOf(durable, 'vmId')));
    await call('vm.delete', Number(factOf(durable, 'vmId')), { zvols: true });
    await call('pool.dataset.delete', factOf(durable, 'dataset'), { recursive: true });
    expect(await release(durable)).toMatchObject({ kind: 'finished' });
    expect([addressClaims.has(machine), toJsonText(dumpWithoutImageCache())]).toEqual([false, before]);
  });

  it('is released with its disks where the database of its own system was restored without it', async () => {
    await startTrueNasPlatformFixture();
    const before = toJsonText(dumpWithoutImageCache());
    const durable = await newMachine();
    await nasFixture.simulator.loseVm(factOf(durable, 'vm'));
    expect(await release(durable)).toMatchObject({ kind: 'finished' });
    expect([addressClaims.has(machine), toJsonText(dumpWithoutImageCache())]).toEqual([false, before]);
  });
});

it('a machine is reported as on another system and not as gone, and is not created again there', async () => {
  await startTrueNasPlatformFixture();
  const durable = await newMachine();
  await replaceSystem(durable);
  const { facts = {} } = durable.progress ?? {};
  const { drift } = await truenas.observe(new TrueNasProviderProcess().context(machine, facts));
  expect(drift.map(({ reason, repair }) => [reason, repair])).toEqual([['SystemChanged', undefined]]);
});

it('an orphan does not count as removed on another system of the same name', async () => {
  await startTrueNasPlatformFixture();
  const durable = await newMachine();
  const find = () =>
    truenas.garbage!.orphans!.find({
      ...new TrueNasProviderProcess().context('none', {}),
      ...{
        failureDomain: undefined,
        instance: { installation: 'installation-1', provider: 'talos' },
        isKnown: () => false,
      },
    });
  const [orphan] = await find();
  expect(orphan?.facts['roots']).toBe(factOf(durable, 'roots'));
  durable.progress = { ...durable.progress!, facts: orphan?.facts ?? {} };
  await replaceSystem(durable);
  expect(await release(durable)).toMatchObject({ kind: 'failed', reason: 'SystemChanged' });
  expect(addressClaims.has(machine)).toBe(true);
});

it('a machine in creation is not created a second time on another system', async () => {
  await startTrueNasPlatformFixture();
  const durable = await provisionUpTo('powered-on');
  await replaceSystem(durable);
  expect(await new TrueNasProviderProcess().walk('provision', machine, durable)).toMatchObject({
    ...{ kind: 'failed', reason: 'SystemChanged' },
  });
  expect(otherNas?.simulator.nas.vms.size).toBe(0);
});

it('a machine is released after approval, with its address, and nothing is touched', async () => {
  await startTrueNasPlatformFixture();
  const sizes = [{ name: 'small', cpus: 2, memoryMiB: 4096, diskGiB: 40, encrypted: true }];
  const durable = await newMachine({ sizes });
  await replaceSystem(durable);
  // The record as the controller stores it after approval of the reason.
  durable.progress = { ...durable.progress!, facts: { ...durable.progress!.facts, approved: 'SystemChanged' } };
  for (const { switchboard } of [nasFixture, otherNas!]) switchboard.calls.length = 0;
  expect(await release(durable)).toMatchObject({ kind: 'finished' });
  expect([addressClaims.has(machine), changes(nasFixture), changes(otherNas!)]).toEqual([false, [], []]);
  expect(diskKeyStore.secrets.has(`${machine}-disk-key`)).toBe(true);
});
