import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { Facts } from '../../../src/engine/platform.ts';
import { deadline } from '../../../src/lib/deadline.ts';
import { Secret } from '../../../src/lib/secret.ts';
import { connect, type TrueNas } from '../../../src/platforms/truenas/client.ts';
import { TrueNasConfig } from '../../../src/platforms/truenas/config.ts';
import { until } from '../truenas/testing.ts';
import { versions } from './rehearsal.ts';
import { clock, config, credentials, type Durable, Process, room, start, useScene } from './scene.ts';

useScene();

const machine = 'shop-cp-0';

/** A machine that runs, and a connection that tells of changes and has told nothing for a while. */
async function make() {
  const process = new Process();
  const durable: Durable = { progress: undefined };
  await process.walk('provision', machine, durable);
  const nas = connect({ ...process.context(machine, {}), config: TrueNasConfig.parse(config()) });
  // Until then what happens to it may be the echo of its start.
  await clock.sleep(6000);
  return { process, facts: durable.progress!.facts, nas, ...(await listen(nas)) };
}

async function listen(nas: TrueNas) {
  let times = 0;
  nas.onChange(() => {
    times += 1;
  });
  await nas.read('system.version_short', [], z.string(), { signal: deadline(10) });
  await until(() => times === 1, 'it listens');
  return { told: () => times - 1 };
}

const call = async (method: string, ...params: unknown[]) => (await room.login()).call(method, ...params);
const job = async (method: string, ...params: unknown[]) => (await room.login()).job(method, ...params);
const idOf = (facts: Facts) => Number(facts['vmId']);
const cardOf = (facts: Facts) =>
  [...room.room.nas.devices.values()].find(({ vm, attributes }) => vm === idOf(facts) && attributes['dtype'] === 'NIC')!
    .id;

const off = async (facts: Facts) => await job('vm.stop', idOf(facts), { force: true });
const cases: [string, (facts: Facts) => unknown, before?: (facts: Facts) => unknown][] = [
  ['switched off by hand', (facts) => call('vm.poweroff', idOf(facts))],
  ['stopped by hand', off],
  ['whose guest goes off', (facts) => room.room.powerOff(String(facts['vm']))],
  ['switched on by hand', (facts) => call('vm.start', idOf(facts)), off],
  ['suspended by hand', (facts) => call('vm.suspend', idOf(facts))],
  ['renamed by hand', (facts) => call('vm.update', idOf(facts), { name: 'mine' }), off],
  ['deleted by hand', (facts) => call('vm.delete', idOf(facts), { zvols: false, force: true })],
  ['without its card', (facts) => call('vm.device.delete', cardOf(facts)), off],
  ['without its datasets', (facts) => call('pool.dataset.delete', facts['dataset'], { recursive: true }), off],
];

describe.each(versions)('a machine on %s', (version) => {
  it.each(cases)('T9: %s is told, and the look at it is old', async (_, change, before) => {
    await start({ version });
    const { facts, nas, told } = await make();
    await before?.(facts);
    // Of what was before everything is told by then.
    if (before) await until(() => told() > 0, 'what was before is told');
    const already = told();
    const look = () => nas.shared.get('look', { maxAgeSeconds: 3600 }, async () => ++looks, deadline(10));
    let looks = 0;
    await look();
    await change(facts);
    await until(() => told() > already, 'it is told');
    expect([await look(), looks]).toEqual([2, 2]);
  });
});

it.each(versions)('T9: a machine that we make ourselves is no change on %s', async (version) => {
  await start({ version });
  const { process, told } = await make();
  await process.walk('provision', 'shop-cp-1', { progress: undefined });
  // Longer than anybody would wait to be told.
  await clock.sleep(15_000);
  expect(told()).toBe(0);
});

describe('a user', () => {
  it.each(versions)('T62: who may read machines and nothing else is told of them on %s', async (version) => {
    const apiKey = (letter: string) => letter.repeat(64);
    const users = [
      { name: 'root', apiKey: apiKey('r'), roles: ['FULL_ADMIN'] },
      { name: 'reader', apiKey: apiKey('k'), roles: ['VM_READ'] },
    ];
    await start({ version, seed: { users } });
    const process = new Process();
    await process.walk('provision', machine, { progress: undefined });
    const key = room.room.nas.keys.find(({ user }) => user === 'reader')!.key;
    const reader = { ...credentials(), username: new Secret('reader'), apiKey: new Secret(key) };
    const context = { ...process.context(machine, {}), credentials: reader };
    const { told } = await listen(connect({ ...context, config: TrueNasConfig.parse(config()) }));
    await call('vm.poweroff', 1);
    await until(() => told() > 0, 'it is told');
  });
});
