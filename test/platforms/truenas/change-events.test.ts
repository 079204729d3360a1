import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { Facts } from '../../../src/engine/step.ts';
import { deadlineSignal } from '../../../src/lib/deadline.ts';
import { SecretString } from '../../../src/lib/secret-string.ts';
import { connectTrueNas, type TrueNasClient } from '../../../src/platforms/truenas/api/client.ts';
import { SystemInformer } from '../../../src/platforms/truenas/cache/system-informer.ts';
import { TrueNasConfig } from '../../../src/platforms/truenas/config/config.ts';
import { waitUntilHolds } from '../../simulators/truenas/testing/true-nas-fixture.ts';
import { testedReleases } from './baseline-run.ts';
import {
  fixtureClock,
  type MachineRecord,
  nasFixture,
  platformConfig,
  platformCredentials,
  startTrueNasPlatformFixture,
  TrueNasProviderProcess,
  useTrueNasPlatformFixture,
} from './true-nas-platform-fixture.ts';

useTrueNasPlatformFixture();

const machine = 'shop-cp-0';

/** A running machine, and a connection that is subscribed to changes and has received none for a while. */
async function makeMachine() {
  const process = new TrueNasProviderProcess();
  const durable: MachineRecord = { progress: undefined };
  await process.walk('provision', machine, durable);
  const nas = connectTrueNas({ ...process.context(machine, {}), config: TrueNasConfig.parse(platformConfig()) });
  // Until then a change may be an echo of the start.
  await fixtureClock.sleep(6000);
  return { process, facts: durable.progress!.facts, nas, ...(await subscribe(nas)) };
}

async function subscribe(nas: TrueNasClient) {
  let times = 0;
  SystemInformer.of(nas).listen(() => {
    times += 1;
  });
  await nas.read('system.version_short', [], z.string(), { signal: deadlineSignal(10) });
  await waitUntilHolds(() => times === 1, 'it listens');
  return { told: () => times - 1 };
}

/** How many calls a read of the pools takes that accepts any age. */
const bindInformer = (nas: TrueNasClient) => ({
  pools: async (): Promise<number> => {
    const count = () => nasFixture.switchboard.calls.filter(({ name }) => name === 'pool.query').length;
    const before = count();
    await SystemInformer.of(nas).pools({ maxAgeSeconds: 3600 }, deadlineSignal(10));
    return count() - before;
  },
});

const call = async (method: string, ...params: unknown[]) => (await nasFixture.login()).call(method, ...params);
const job = async (method: string, ...params: unknown[]) => (await nasFixture.login()).job(method, ...params);
const idOf = (facts: Facts) => Number(facts['vmId']);
const cardOf = (facts: Facts) =>
  [...nasFixture.simulator.nas.devices.values()].find(
    ({ vm, attributes }) => vm === idOf(facts) && attributes['dtype'] === 'NIC',
  )!.id;

const off = async (facts: Facts) => await job('vm.stop', idOf(facts), { force: true });
const cases: [string, (facts: Facts) => unknown, before?: (facts: Facts) => unknown][] = [
  ['switched off by hand', (facts) => call('vm.poweroff', idOf(facts))],
  ['stopped by hand', off],
  ['powered off by its guest', (facts) => nasFixture.simulator.powerOff(String(facts['vm']))],
  ['switched on by hand', (facts) => call('vm.start', idOf(facts)), off],
  ['suspended by hand', (facts) => call('vm.suspend', idOf(facts))],
  ['renamed by hand', (facts) => call('vm.update', idOf(facts), { name: 'mine' }), off],
  ['deleted by hand', (facts) => call('vm.delete', idOf(facts), { zvols: false, force: true })],
  ['without its card', (facts) => call('vm.device.delete', cardOf(facts)), off],
  ['without its datasets', (facts) => call('pool.dataset.delete', facts['dataset'], { recursive: true }), off],
];

describe.each(testedReleases)('a machine on %s', (version) => {
  it.each(cases)('T9: %s is reported, and the cached observation expires', async (_, change, before) => {
    await startTrueNasPlatformFixture({ version });
    const { facts, nas, told } = await makeMachine();
    await before?.(facts);
    // All events of the preparation have arrived by then.
    if (before) await waitUntilHolds(() => told() > 0, 'what was before is told');
    const already = told();
    const { pools } = bindInformer(nas);
    await pools();
    // Pools are kept for longer than the test takes.
    expect(await pools()).toBe(0);
    await change(facts);
    await waitUntilHolds(() => told() > already, 'it is told');
    expect(await pools()).toBe(1);
  });
});

it.each(testedReleases)('T9: a machine of our own creation is no change on %s', async (version) => {
  await startTrueNasPlatformFixture({ version });
  const { process, told } = await makeMachine();
  await process.walk('provision', 'shop-cp-1', { progress: undefined });
  // Longer than any event takes to arrive.
  await fixtureClock.sleep(15_000);
  expect(told()).toBe(0);
});

describe('a user', () => {
  it.each(testedReleases)('T62: with read access to machines only receives their changes on %s', async (version) => {
    const apiKey = (letter: string) => letter.repeat(64);
    const users = [
      { name: 'root', apiKey: apiKey('r'), roles: ['FULL_ADMIN'] },
      { name: 'reader', apiKey: apiKey('k'), roles: ['VM_READ'] },
    ];
    await startTrueNasPlatformFixture({ version, seed: { users } });
    const process = new TrueNasProviderProcess();
    await process.walk('provision', machine, { progress: undefined });
    const key = nasFixture.simulator.nas.keys.find(({ user }) => user === 'reader')!.key;
    const reader = { ...platformCredentials(), username: new SecretString('reader'), apiKey: new SecretString(key) };
    const context = { ...process.context(machine, {}), credentials: reader };
    const { told } = await subscribe(connectTrueNas({ ...context, config: TrueNasConfig.parse(platformConfig()) }));
    await call('vm.poweroff', 1);
    await waitUntilHolds(() => told() > 0, 'it is told');
  });
});
