import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { Host, type HostStatus } from '../../../src/api/host.ts';
import type { Machine } from '../../../src/api/machine.ts';
import { annotations, finalizers } from '../../../src/api/names.ts';
import { unavailableReasonOf } from '../../../src/controllers/host/availability.ts';
import {
  HostHarness,
  hostCondition,
  seenServer,
  statusHeldBy,
  throwUnreachable,
} from '../../support/harness/host-harness.ts';

let scene: HostHarness;
beforeAll(async () => {
  scene = await HostHarness.open();
});
afterAll(async () => await scene.close());
beforeEach(async () => await scene.reset());

const heldByDeletedMachine = (state: HostStatus['state']) =>
  statusHeldBy({ metadata: { name: 'gone', uid: 'gone-uid' } } as Machine, state);

describe('a free Host', () => {
  test('is available when its inventory returns the expected server, and then causes no write', async () => {
    await scene.host('a');
    const { host, result } = await scene.look();
    expect(host.status).toMatchObject({
      state: 'Available',
      message: 'Free.',
      server: seenServer,
      observedGeneration: 1,
    });
    expect(hostCondition(host, 'Ready')?.status).toBe('True');
    expect(host.metadata.finalizers).toEqual([finalizers.host]);
    expect(scene.said).toEqual(['Normal Available']);
    expect(result.againInSeconds).toBe(600);
    const { host: again } = await scene.look();
    expect(again.metadata.resourceVersion).toBe(host.metadata.resourceVersion);
  });

  test("H28: fails with the platform's message for another server, and recovers by itself", async () => {
    await scene.host('a');
    scene.inventory.identify = async () => ({ refused: 'It is an EX44.' });
    const { host } = await scene.look();
    expect(host.status).toMatchObject({ state: 'Failed', message: 'It is an EX44.' });
    expect(hostCondition(host, 'Identified')).toMatchObject({ status: 'False', reason: 'NotIdentified' });
    expect(scene.said).toEqual(['Warning Failed']);
    scene.inventory.identify = async () => ({ server: seenServer });
    expect((await scene.look()).host.status?.state).toBe('Available');
  });

  test('is not available without a usable disk, and reports what would change that', async () => {
    await scene.host('a');
    scene.inventory.whyUnusable = () => 'sda holds photos. Set spec.wipe.';
    const { host } = await scene.look();
    expect(host.status).toMatchObject({ state: 'Failed', message: 'sda holds photos. Set spec.wipe.' });
    expect(hostCondition(host, 'Usable')).toMatchObject({ status: 'False', reason: 'NoUsableDisk' });
    expect(unavailableReasonOf(host)).toBe('without a disk that may be used');
    scene.inventory.whyUnusable = () => undefined;
    expect((await scene.look()).host.status?.state).toBe('Available');
  });

  test('waits when the inventory is unreachable, and stays available if it was already', async () => {
    await scene.host('a');
    scene.inventory.identify = throwUnreachable;
    const { host, result } = await scene.look();
    expect(host.status?.state).toBe('Pending');
    expect(hostCondition(host, 'Ready')).toMatchObject({ status: 'Unknown', reason: 'PlatformUnreachable' });
    expect(result.againInSeconds).toBe(60);
    scene.inventory.identify = async () => ({ server: seenServer });
    const known = (await scene.look()).host;
    scene.inventory.identify = throwUnreachable;
    expect((await scene.look()).host.metadata.resourceVersion).toBe(known.metadata.resourceVersion);
  });

  test('is not available before a changed expectation is verified', async () => {
    await scene.host('a');
    await scene.look();
    await scene.kube.merge(Host, { name: 'a' }, { spec: { expect: { product: 'EX44' } } });
    scene.inventory.identify = throwUnreachable;
    expect((await scene.look()).host.status?.state).toBe('Pending');
  });

  test('H9: is not available in maintenance', async () => {
    await scene.host('a', { spec: { maintenance: true } });
    const { host } = await scene.look();
    expect(host.status?.state).toBe('Maintenance');
    expect(hostCondition(host, 'Ready')).toMatchObject({ status: 'False', reason: 'InMaintenance' });
    await scene.kube.merge(Host, { name: 'a' }, { spec: { maintenance: false } });
    expect((await scene.look()).host.status?.state).toBe('Available');
  });

  test('without a ProviderConfig that uses it reports that, and causes no inventory call', async () => {
    await scene.host('a', { metadata: { labels: { for: 'nobody' } } });
    scene.inventory.identify = async () => {
      throw new Error('asked');
    };
    const { host } = await scene.look();
    expect(host.status?.state).toBe('Pending');
    expect(hostCondition(host, 'Usable')).toMatchObject({ status: 'False', reason: 'NotUsed' });
    expect(host.metadata.finalizers).toBeUndefined();
  });

  test('of another provider is ignored', async () => {
    const before = await scene.host('a');
    const services = { ...(await scene.services()), provider: 'other' };
    await scene.reconcile('a', services);
    expect((await scene.get('a')).metadata.resourceVersion).toBe(before.metadata.resourceVersion);
  });

  test('P52: for a server that has another Host is not available', async () => {
    await scene.host('a', { spec: { serverNumber: 7 } });
    await scene.host('b', { spec: { serverNumber: 7 } });
    const { host } = await scene.look('b');
    expect(host.status?.state).toBe('Failed');
    expect(hostCondition(host, 'Usable')).toMatchObject({
      reason: 'SameServer',
      message: expect.stringContaining('Host a'),
    });
    expect((await scene.look('a')).host.status?.state).toBe('Available');
  });

  test('is deleted at once', async () => {
    await scene.host('a');
    await scene.look();
    await scene.kube.remove(Host, { name: 'a' });
    await scene.reconcile('a');
    expect(await scene.kube.find(Host, { name: 'a' })).toBeUndefined();
  });

  test('H10: with a permanent error is not available until a user removes the error', async () => {
    await scene.host('a', { metadata: { annotations: { [annotations.permanentError]: 'Its fan is broken.' } } });
    const { host } = await scene.look();
    expect(host.status).toMatchObject({ state: 'Failed', message: 'Its fan is broken.' });
    expect(hostCondition(host, 'Usable')?.reason).toBe('PermanentError');
    await scene.kube.merge(Host, { name: 'a' }, { metadata: { annotations: null } });
    expect((await scene.look()).host.status?.state).toBe('Available');
  });
});

describe('a Host that a Machine holds', () => {
  test('keeps the state that its Machine wrote, even in maintenance, and reports the maintenance', async () => {
    const machine = await scene.machine();
    await scene.host('a', { spec: { maintenance: true }, status: statusHeldBy(machine) });
    const { host } = await scene.look();
    expect(host.status).toMatchObject(statusHeldBy(machine));
    expect(hostCondition(host, 'Ready')).toMatchObject({
      reason: 'InMaintenance',
      message: expect.stringContaining(machine.metadata.name),
    });
  });

  test('is not deleted, and reports its holder', async () => {
    const machine = await scene.machine();
    await scene.host('a', { status: statusHeldBy(machine) });
    await scene.look();
    await scene.kube.remove(Host, { name: 'a' });
    const { host } = await scene.look();
    expect(hostCondition(host, 'NotInUse')?.message).toContain(machine.metadata.name);
    expect(hostCondition(host, 'Ready')?.status).toBe('False');
  });

  test('is free again at once when its Machine is gone before any write to its disks', async () => {
    await scene.host('a', { status: heldByDeletedMachine('Claimed') });
    const meanwhile: unknown[] = [];
    scene.inventory.identify = async () => {
      meanwhile.push((await scene.get('a')).status?.state);
      return { server: seenServer };
    };
    const { host } = await scene.look();
    // It is not available before its identity is verified.
    expect(meanwhile).toEqual(['Pending']);
    expect(host.status?.state).toBe('Available');
    expect(host.status?.machineRef).toBeUndefined();
  });

  test.each(['Provisioned', 'Deprovisioning'] as const)(
    'needs a decision by a user when its Machine is gone: %s',
    async (state) => {
      await scene.host('a', { status: heldByDeletedMachine(state) });
      const { host } = await scene.look();
      expect(host.status).toMatchObject({ state: 'Failed', machineRef: { name: 'gone' } });
      expect(host.metadata.annotations?.[annotations.permanentError]).toContain('Machine gone does not exist any more');
      expect(hostCondition(host, 'Usable')?.reason).toBe('MachineGone');
      expect((await scene.look()).host.metadata.resourceVersion).toBe(host.metadata.resourceVersion);
      await scene.kube.merge(Host, { name: 'a' }, { metadata: { annotations: null } });
      const { host: decided } = await scene.look();
      expect(decided.status?.state).toBe('Available');
      expect(decided.status?.machineRef).toBeUndefined();
    },
  );

  test('is not released while its Machine is only missing from the watch', async () => {
    const services = await scene.services();
    const machine = await scene.machine();
    await scene.host('a', { status: statusHeldBy(machine, 'Claimed') });
    const hosts = (await scene.services()).stores.hosts;
    await scene.reconcile('a', { ...services, stores: { ...services.stores, hosts } });
    expect((await scene.get('a')).status).toMatchObject(statusHeldBy(machine, 'Claimed'));
  });

  test("whose Machine is gone is deleted on a user's request", async () => {
    await scene.host('a', { metadata: { finalizers: [finalizers.host] }, status: heldByDeletedMachine('Provisioned') });
    await scene.kube.remove(Host, { name: 'a' });
    await scene.reconcile('a');
    expect(await scene.kube.find(Host, { name: 'a' })).toBeUndefined();
  });

  test('P41: is free again when a late claim gave its Machine two', async () => {
    const machine = await scene.machine();
    const claim = statusHeldBy(machine, 'Claimed');
    await scene.host('a', { status: claim });
    await scene.host('b', { status: { ...claim, machineRef: { ...claim.machineRef, since: '2026-11-21T09:00:01Z' } } });
    expect((await scene.look('b')).host.status?.state).toBe('Claimed');
    expect((await scene.look('a')).host.status?.state).toBe('Available');
  });
});

test('a fleet of 1,000 ready Hosts is reconciled without a single call to the API server', async () => {
  const machine = await scene.machine(0, true);
  await scene.host('a');
  const free = (await scene.look()).host;
  await scene.host('b', { status: statusHeldBy(machine) });
  const taken = (await scene.look('b')).host;
  const fleet = Array.from({ length: 1000 }, (_, n): Host => {
    const { metadata, spec, ...rest } = n === 0 ? taken : free;
    return {
      ...rest,
      metadata: { ...metadata, name: `host-${n}`, uid: `uid-${n}` },
      spec: { ...spec, serverNumber: n + 1 },
    };
  });
  const silent = new Proxy(scene.kube, { get: (_, name) => expect.unreachable(`${String(name)} was called`) });
  const services = await scene.services(silent, fleet);
  for (const { metadata } of fleet)
    expect(await scene.reconcile(metadata.name, services)).toEqual({ againInSeconds: 600 });
});

test('D7: a Host with the ignore annotation is not reconciled', async () => {
  const before = await scene.host('a', { metadata: { annotations: { 'openmcp.cloud/operation': 'ignore' } } });
  await scene.look();
  expect((await scene.get('a')).metadata.resourceVersion).toBe(before.metadata.resourceVersion);
});
