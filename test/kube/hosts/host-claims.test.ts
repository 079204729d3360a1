import fc from 'fast-check';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { Host } from '../../../src/api/host.ts';
import { annotations } from '../../../src/api/names.ts';
import type { HostClaim, HostView } from '../../../src/engine/host.ts';
import type { KubeClient } from '../../../src/kube/client/client.ts';
import { propertyParameters } from '../../support/arbitrary/property-parameters.ts';
import { aServerMachine, HostHarness } from '../../support/harness/host-harness.ts';

let fixture: HostHarness;
beforeAll(async () => {
  fixture = await HostHarness.open();
});
afterAll(async () => await fixture.close());
beforeEach(async () => await fixture.clear());

const { signal } = new AbortController();
const any = () => undefined;
const free = { state: 'Available' } as const;
const hostsOfMachine = async (slot: number, kube?: KubeClient): Promise<HostClaim> =>
  (await fixture.services(kube)).hosts.of(aServerMachine(slot), signal);
const holders = async () =>
  (await fixture.kube.list(Host)).items.flatMap(({ metadata, status }) =>
    status?.machineRef ? [{ host: metadata.name, uid: status.machineRef.uid }] : [],
  );
const nameOf = (answer: HostView | { rejected: unknown }) => ('rejected' in answer ? undefined : answer.name);

describe('a claim', () => {
  test('selects the first suitable Host by name, and records itself in its status', async () => {
    for (const name of ['c', 'a', 'b']) await fixture.host(name, { status: free });
    const hosts = await hostsOfMachine(0);
    expect(nameOf(await hosts.claim(({ name }) => (name === 'a' ? 'are called a' : undefined)))).toBe('b');
    expect((await fixture.get('b')).status).toMatchObject({
      state: 'Claimed',
      message: `Claimed for Machine ${aServerMachine(0).metadata.name}.`,
      machineRef: { name: aServerMachine(0).metadata.name, uid: 'machine-cp-0' },
    });
    expect(fixture.messages).toContain('Normal Claimed');
  });

  test('P41: is found again after the process died before recording it, and no second one is made', async () => {
    for (const name of ['a', 'b']) await fixture.host(name, { status: free });
    const before = await hostsOfMachine(0);
    await before.claim(any);
    // The same store: it does not contain the claim yet.
    expect(nameOf(await before.claim(any))).toBe('a');
    expect(nameOf(await (await hostsOfMachine(0)).claim(any))).toBe('a');
    expect(await (await hostsOfMachine(0)).current()).toMatchObject({ name: 'a', state: 'Claimed' });
    expect(await holders()).toHaveLength(1);
  });

  test('H11: counts the rejection reasons of each Host, starting with those of the Host itself', async () => {
    const holder = { name: 'other', uid: 'other-uid', since: '2026-11-21T09:00:00Z' };
    await fixture.host('a', { status: { state: 'Provisioned', machineRef: holder } });
    await fixture.host('b', { status: { state: 'Claimed', machineRef: holder } });
    await fixture.host('c', { spec: { maintenance: true }, status: free });
    await fixture.host('d', { status: { state: 'Failed' } });
    await fixture.host('e', { metadata: { annotations: { [annotations.permanentError]: 'Look.' } }, status: free });
    await fixture.host('f');
    await fixture.host('g', { status: free });
    const task = { plan: 'inspect', step: 'x', since: '2026-11-21T09:00:00Z', failures: 0, facts: {} } as const;
    await fixture.host('h', { status: { ...free, task } });
    await fixture.host('i', { metadata: { finalizers: ['test/keep'] }, status: free });
    await fixture.kube.remove(Host, { name: 'i' });
    const answer = await (await hostsOfMachine(0)).claim(() => 'without the label disk=nvme');
    expect('rejected' in answer && [...answer.rejected]).toEqual([
      ['held by another machine', 2],
      ['being deleted', 1],
      ['in maintenance', 1],
      ['failed', 2],
      ['being inspected or rebooted', 1],
      ['not looked at yet', 1],
      ['without the label disk=nvme', 1],
    ]);
    expect(await holders()).toHaveLength(2);
  });

  test('is decided by the current state of the Host, not by the cached one', async () => {
    await fixture.host('a', { status: free });
    const hosts = await hostsOfMachine(0);
    await fixture.kube.merge(Host, { name: 'a' }, { spec: { maintenance: true } });
    expect(nameOf(await hosts.claim(any))).toBeUndefined();
    expect(await holders()).toEqual([]);
  });

  test('never selects one of two Hosts for the same server while the other one exists', async () => {
    await fixture.host('a', { spec: { serverID: '5' }, status: free });
    await fixture.host('b', { spec: { serverID: '5' }, status: free });
    expect(nameOf(await (await hostsOfMachine(0)).claim(any))).toBe('a');
    const second = await (await hostsOfMachine(1)).claim(any);
    expect('rejected' in second && [...second.rejected.keys()]).toEqual([
      'held by another machine',
      'are for a server that has another Host',
    ]);
  });

  test('continues with the next Host when another machine was faster', async () => {
    for (const name of ['a', 'b']) await fixture.host(name, { status: free });
    const late = beforeEachWrite(fixture.kube, async () => {
      await fixture.kube.merge(Host, { name: 'a' }, { status: { message: 'x' } }, { subresource: 'status' });
    });
    expect(nameOf(await (await hostsOfMachine(0, late)).claim(any))).toBe('b');
  });

  test('by many machines at once costs none of them a failed try', async () => {
    for (const name of ['a', 'b', 'c', 'd', 'e', 'f']) await fixture.host(name, { status: free });
    const writes: number[] = [];
    const services = await fixture.services(beforeEachWrite(fixture.kube, async () => void writes.push(1)));
    const answers = await Promise.all(
      [0, 1, 2, 3, 4, 5].map((slot) => services.hosts.of(aServerMachine(slot), signal).claim(any)),
    );
    expect(answers.map(nameOf).sort()).toEqual(['a', 'b', 'c', 'd', 'e', 'f']);
    expect(writes).toHaveLength(6);
  });

  test('P42: is never made for a machine that is being deleted, nor by reading or releasing', async () => {
    await fixture.host('a', { status: free });
    const gone = {
      ...aServerMachine(0),
      metadata: { ...aServerMachine(0).metadata, deletionTimestamp: '2026-11-21T09:00:00Z' },
    };
    const hosts = (await fixture.services()).hosts.of(gone, signal);
    expect(await hosts.current()).toBeUndefined();
    await hosts.release();
    await expect(hosts.claim(any)).rejects.toMatchObject({ code: 'INTERNAL' });
    expect(await holders()).toEqual([]);
  });
});

describe('a Machine that holds a Host', () => {
  const claimed = async (more: object = {}) => {
    await fixture.host('a', { status: { ...free, ...more } });
    const hosts = await hostsOfMachine(0);
    await hosts.claim(any);
    return hosts;
  };

  test('records its results, despite concurrent writes of the Host controller', async () => {
    await claimed();
    let times = 0;
    const disturbed = beforeEachWrite(fixture.kube, async () => {
      times += 1;
      if (times > 3) return;
      const status = { observedGeneration: times };
      await fixture.kube.merge(Host, { name: 'a' }, { status }, { subresource: 'status' });
    });
    await (await hostsOfMachine(0, disturbed)).updateStatus({ state: 'Provisioned' });
    expect((await fixture.get('a')).status).toMatchObject({
      state: 'Provisioned',
      message: `Provisioned for Machine ${aServerMachine(0).metadata.name}.`,
      observedGeneration: 3,
    });
  });

  test('gets an error when it no longer holds a Host', async () => {
    const hosts = await claimed();
    await fixture.kube.merge(Host, { name: 'a' }, { status: { machineRef: null } }, { subresource: 'status' });
    await expect(hosts.updateStatus({ state: 'Provisioned' })).rejects.toMatchObject({ code: 'HOST_LOST' });
    expect(await hosts.current()).toBeUndefined();
    await hosts.release();
  });

  test.each([
    ['Available', 'Free.', {}, { conditions: [identified('True')] }],
    [
      'Maintenance',
      'spec.maintenance: it is kept out of use.',
      { maintenance: true },
      { conditions: [identified('True')] },
    ],
    ['Failed', 'Another product.', {}, { conditions: [identified('False', 'Another product.')] }],
    ['Pending', '', {}, {}],
  ] as const)('releases it in state %s, and records that in the same write', async (state, message, spec, status) => {
    const hosts = await claimed(status);
    await fixture.kube.merge(Host, { name: 'a' }, { spec });
    await hosts.updateStatus({ state: 'Deprovisioning' });
    const name = aServerMachine(0).metadata.name;
    expect((await fixture.get('a')).status?.message).toBe(`Deprovisioning for Machine ${name}.`);
    await hosts.release();
    await hosts.release();
    const left = (await fixture.get('a')).status;
    expect(left).toMatchObject({ state, message });
    expect(left?.machineRef).toBeUndefined();
  });

  test('cancels a requested task when it is deleted', async () => {
    const hosts = await claimed();
    const task = { plan: 'reboot', step: 'x', since: '2026-11-21T09:00:00Z' };
    await fixture.kube.merge(Host, { name: 'a' }, { status: { task } }, { subresource: 'status' });
    await hosts.updateStatus({ state: 'Provisioned' });
    expect((await fixture.get('a')).status?.task).toMatchObject(task);
    await hosts.updateStatus({ state: 'Deprovisioning' });
    expect((await fixture.get('a')).status?.task).toBeUndefined();
  });

  test('may address every server that has a Host, and no other', async () => {
    await fixture.host('a', { spec: { serverID: '17' } });
    await fixture.host('b', { spec: { serverID: '18' } });
    expect([...(await hostsOfMachine(0)).servers()].sort()).toEqual(['17', '18']);
  });
});

/** A client that runs a function right before each write, or dies. */
function beforeEachWrite(kube: KubeClient, before: () => Promise<void>): KubeClient {
  return wrapClient(kube, async (name, call) => {
    if (name === 'merge') await before();
    return await call();
  });
}

function wrapClient(
  kube: KubeClient,
  around: (name: string, call: () => Promise<unknown>) => Promise<unknown>,
): KubeClient {
  return new Proxy(kube, {
    get: (target, name) => {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== 'function') return value;
      return (...words: unknown[]) => around(String(name), () => Promise.resolve(value.apply(target, words)));
    },
  });
}

function identified(status: 'True' | 'False', message = '') {
  const lastTransitionTime = '2026-11-21T09:00:00Z';
  return { type: 'Identified', status, reason: 'AsExpected', message, lastTransitionTime } as const;
}

/** A process that dies at its n-th call, right before the call or right after it took effect. */
function dieAtCall(kube: KubeClient, calls: number, after: boolean): KubeClient {
  let left = calls;
  return wrapClient(kube, async (_, call) => {
    left -= 1;
    if (left < 0) throw new Error('dead');
    if (left > 0) return await call();
    if (after) await call();
    throw new Error('dead');
  });
}

describe('concurrent claims with crashes at any call', () => {
  const life = fc.record({
    calls: fc.integer({ min: 1, max: 40 }),
    after: fc.boolean(),
    machines: fc.nat({ max: 31 }),
    isBlind: fc.boolean(),
  });
  test('two Machines never hold one Host, and no Machine holds two', { timeout: 120_000 }, async () => {
    const title = 'claims of Hosts';
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 4 }),
        fc.array(fc.array(life, { minLength: 1, maxLength: 2 }), { minLength: 1, maxLength: 4 }),
        async (count, generations) => {
          await fixture.clear();
          for (let n = 0; n < count; n += 1) await fixture.host(`host-${n}`, { status: free });
          const { items: atFirst } = await fixture.kube.list(Host);
          const told = new Map<string, number>();
          const attempt = async (slot: number, hosts: HostClaim) => {
            const name = nameOf(await hosts.claim(any));
            if (name === undefined) return;
            expect(told.get(name) ?? slot).toBe(slot);
            told.set(name, slot);
          };
          for (const lives of generations) {
            // Two concurrent processes have separate Machines: even and odd ones.
            const work = lives.map(async ({ calls, after, machines, isBlind }, half) => {
              const known = isBlind ? atFirst : undefined;
              const { hosts } = await fixture.services(dieAtCall(fixture.kube, calls, after), known);
              const slots = [0, 1, 2, 3, 4].filter((slot) => slot % 2 === half && (machines >> slot) % 2 === 1);
              const all = slots.map((slot) => attempt(slot, hosts.of(aServerMachine(slot), signal)));
              for (const { reason } of (await Promise.allSettled(all)).filter((end) => end.status === 'rejected'))
                if (!(reason instanceof Error && reason.message === 'dead')) throw reason;
            });
            await Promise.all(work);
            const held = await holders();
            expect(new Set(held.map(({ uid }) => uid)).size).toBe(held.length);
          }
          // In the end every available Host is claimed.
          const { hosts } = await fixture.services();
          await Promise.all([0, 1, 2, 3, 4].map((slot) => attempt(slot, hosts.of(aServerMachine(slot), signal))));
          expect(await holders()).toHaveLength(count);
          expect(told.size).toBe(count);
        },
      ),
      propertyParameters(title, 40),
    );
  });
});
