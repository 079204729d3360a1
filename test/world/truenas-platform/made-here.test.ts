import { afterEach, describe, expect, it } from 'vitest';
import { truenas } from '../../../src/platforms/truenas/index.ts';
import { keyRoom } from '../../support/process-life.ts';
import { type Bench, bench } from '../truenas/testing.ts';
import { provisionUpTo } from './rehearsal.ts';
import {
  changing,
  claims,
  type Durable,
  factoryUrl,
  moveTo,
  Process,
  room,
  shape,
  start,
  text,
  useScene,
  withoutCache,
} from './scene.ts';

useScene();

let other: Bench | undefined;
afterEach(async () => {
  moveTo(undefined);
  await other?.close();
  other = undefined;
});

const machine = 'shop-cp-0';
const call = async (method: string, ...params: unknown[]) => (await room.login()).call(method, ...params);
const release = (durable: Durable) => new Process().walk('release', machine, durable);
const factOf = ({ progress }: Durable, name: string) => String(progress?.facts[name]);

async function aMachine(change: object = {}): Promise<Durable> {
  const durable: Durable = { progress: undefined };
  await new Process().walk('provision', machine, durable, change);
  expect(claims.has(machine)).toBe(true);
  return durable;
}

/** The name of the system leads to another one from now on, with a pool of the same name. Returns how it leads back. */
async function replaceSystem(durable: Durable): Promise<() => void> {
  other = await bench();
  const { line } = other.room;
  const { user = '', apiKey = '' } = line.credentials;
  moveTo({ url: line.url, ca: other.ca, user, apiKey, factoryUrl });
  const former = factOf(durable, 'system');
  const callIt = (system: string) => {
    durable.progress = { ...durable.progress!, facts: { ...durable.progress!.facts, system } };
  };
  callIt(new URL(line.url).host);
  return () => {
    moveTo(undefined);
    callIt(former);
  };
}
const changes = ({ switchboard }: Bench) => switchboard.calls.filter(({ name }) => changing.test(name));

describe('a machine of which nothing is found', () => {
  it('is not released by another system that is called as its own', async () => {
    await start();
    const before = text(withoutCache());
    const durable = await aMachine();
    const leadBack = await replaceSystem(durable);
    expect(await release(durable)).toMatchObject({
      ...{ kind: 'failed', reason: 'SystemChanged' },
      message: expect.stringMatching(/was made on pools that \S+ does not have: tank \(guid \d+\)/),
    });
    expect([claims.has(machine), shape().vms]).toEqual([true, [factOf(durable, 'vm')]]);
    leadBack();
    expect(await release(durable)).toMatchObject({ kind: 'finished' });
    expect([claims.has(machine), text(withoutCache())]).toEqual([false, before]);
  });

  it('is not released by another system with a restored database, which knows its virtual machine and not its disks', async () => {
    await start();
    const durable = await aMachine();
    await replaceSystem(durable);
    const client = await other?.login();
    await client?.call('vm.create', { name: factOf(durable, 'vm'), uuid: factOf(durable, 'uuid'), memory: 512 });
    expect(await release(durable)).toMatchObject({ kind: 'failed', reason: 'SystemChanged' });
    expect([claims.has(machine), shape().vms]).toEqual([true, [factOf(durable, 'vm')]]);
  });

  it('is not released where its system was replaced between two steps', async () => {
    await start();
    const before = text(withoutCache());
    const durable = await aMachine();
    const { progress } = durable;
    durable.progress = { ...progress!, plan: 'release', step: 'storage-deleted' } as typeof progress;
    delete (durable.progress as { finishedAt?: string }).finishedAt;
    const leadBack = await replaceSystem(durable);
    expect(await release(durable)).toMatchObject({ kind: 'failed', reason: 'SystemChanged' });
    leadBack();
    expect(await release(durable)).toMatchObject({ kind: 'finished' });
    expect([claims.has(machine), text(withoutCache())]).toEqual([false, before]);
  });

  it('is not released where its pool cannot be seen', async () => {
    await start();
    const before = text(withoutCache());
    const durable = await aMachine();
    await room.room.loseVm(factOf(durable, 'vm'));
    await room.room.setPoolStatus('tank', 'OFFLINE');
    expect(await release(durable)).toMatchObject({ kind: 'failed', reason: 'PoolFaulted' });
    expect(claims.has(machine)).toBe(true);
    await room.room.setPoolStatus('tank', 'ONLINE');
    expect(await release(durable)).toMatchObject({ kind: 'finished' });
    expect([claims.has(machine), text(withoutCache())]).toEqual([false, before]);
  });

  it('is not released where one of its pools is gone', async () => {
    await start({ seed: { pools: [{ name: 'tank' }, { name: 'fast' }] } });
    const disks = [{ name: 'cache', sizeGiB: 20, pool: 'fast' }];
    const durable = await aMachine({ sizes: [{ name: 'small', cpus: 2, memoryMiB: 4096, diskGiB: 40, disks }] });
    const roots = factOf(durable, 'roots').replace(/\d+(?=:fast)/, '1');
    durable.progress = { ...durable.progress!, facts: { ...durable.progress!.facts, roots } };
    await room.room.loseVm(factOf(durable, 'vm'));
    expect(await release(durable)).toMatchObject({
      ...{ kind: 'failed', reason: 'PoolGone', message: expect.stringContaining('fast (guid 1)') },
    });
    expect(claims.has(machine)).toBe(true);
  });

  it('is released where its own system answers and its pools are seen: people removed it by hand', async () => {
    await start();
    const before = text(withoutCache());
    const durable = await aMachine();
    await call('vm.poweroff', Number(factOf(durable, 'vmId')));
    await call('vm.delete', Number(factOf(durable, 'vmId')), { zvols: true });
    await call('pool.dataset.delete', factOf(durable, 'dataset'), { recursive: true });
    expect(await release(durable)).toMatchObject({ kind: 'finished' });
    expect([claims.has(machine), text(withoutCache())]).toEqual([false, before]);
  });

  it('is released with its disks where the database of its own system was restored without it', async () => {
    await start();
    const before = text(withoutCache());
    const durable = await aMachine();
    await room.room.loseVm(factOf(durable, 'vm'));
    expect(await release(durable)).toMatchObject({ kind: 'finished' });
    expect([claims.has(machine), text(withoutCache())]).toEqual([false, before]);
  });
});

it('a machine is reported as on another system and not as gone, and is not made anew there', async () => {
  await start();
  const durable = await aMachine();
  await replaceSystem(durable);
  const { facts = {} } = durable.progress ?? {};
  const { drift } = await truenas.observe(new Process().context(machine, facts));
  expect(drift.map(({ reason, mend }) => [reason, mend])).toEqual([['SystemChanged', undefined]]);
});

it('an orphan is not taken for removed on another system that is called as its own', async () => {
  await start();
  const durable = await aMachine();
  const find = () =>
    truenas.orphans!.find({
      ...new Process().context('none', {}),
      ...{ site: undefined, ours: { installation: 'installation-1', provider: 'talos' }, isKnown: () => false },
    });
  const [orphan] = await find();
  expect(orphan?.facts['roots']).toBe(factOf(durable, 'roots'));
  durable.progress = { ...durable.progress!, facts: orphan?.facts ?? {} };
  await replaceSystem(durable);
  expect(await release(durable)).toMatchObject({ kind: 'failed', reason: 'SystemChanged' });
  expect(claims.has(machine)).toBe(true);
});

it('a machine that is being made is not made a second time on another system', async () => {
  await start();
  const durable = await provisionUpTo('powered-on');
  await replaceSystem(durable);
  expect(await new Process().walk('provision', machine, durable)).toMatchObject({
    ...{ kind: 'failed', reason: 'SystemChanged' },
  });
  expect(other?.room.nas.vms.size).toBe(0);
});

it('a machine that a person has vouched for is let go, with its address, and nothing is touched', async () => {
  await start();
  const sizes = [{ name: 'small', cpus: 2, memoryMiB: 4096, diskGiB: 40, encrypted: true }];
  const durable = await aMachine({ sizes });
  await replaceSystem(durable);
  // As the controller has it when the reason was agreed to.
  durable.progress = { ...durable.progress!, facts: { ...durable.progress!.facts, agreed: 'SystemChanged' } };
  for (const { switchboard } of [room, other!]) switchboard.calls.length = 0;
  expect(await release(durable)).toMatchObject({ kind: 'finished' });
  expect([claims.has(machine), changes(room), changes(other!)]).toEqual([false, [], []]);
  expect(keyRoom.secrets.has(`${machine}-disk-key`)).toBe(true);
});
