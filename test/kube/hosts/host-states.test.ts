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

let fixture: HostHarness;
beforeAll(async () => {
  fixture = await HostHarness.open();
});
afterAll(async () => await fixture.close());
beforeEach(async () => await fixture.reset());

const heldByDeletedMachine = (state: HostStatus['state']) =>
  statusHeldBy({ metadata: { name: 'gone', uid: 'gone-uid' } } as Machine, state);

describe('a free Host', () => {
  test('is available when its inventory returns the expected server, and then causes no write', async () => {
    await fixture.host('a');
    const { host, result } = await fixture.look();
    expect(host.status).toMatchObject({
      state: 'Available',
      message: 'Free.',
      server: seenServer,
      observedGeneration: 1,
    });
    expect(hostCondition(host, 'Ready')?.status).toBe('True');
    expect(host.metadata.finalizers).toEqual([finalizers.host]);
    expect(fixture.messages).toEqual(['Normal Available']);
    expect(result.requeueAfterSeconds).toBe(600);
    const { host: again } = await fixture.look();
    expect(again.metadata.resourceVersion).toBe(host.metadata.resourceVersion);
  });

  test("H28: fails with the platform's message for another server, and recovers by itself", async () => {
    await fixture.host('a');
    fixture.inventory.identify = async () => ({ refused: 'It is an EX44.' });
    const { host } = await fixture.look();
    expect(host.status).toMatchObject({ state: 'Failed', message: 'It is an EX44.' });
    expect(hostCondition(host, 'Identified')).toMatchObject({ status: 'False', reason: 'NotIdentified' });
    expect(fixture.messages).toEqual(['Warning Failed']);
    fixture.inventory.identify = async () => ({ server: seenServer });
    expect((await fixture.look()).host.status?.state).toBe('Available');
  });

  test('is not available without a usable disk, and reports what would change that', async () => {
    await fixture.host('a');
    fixture.inventory.whyUnusable = () => 'sda holds photos. Set spec.wipe.';
    const { host } = await fixture.look();
    expect(host.status).toMatchObject({ state: 'Failed', message: 'sda holds photos. Set spec.wipe.' });
    expect(hostCondition(host, 'Usable')).toMatchObject({ status: 'False', reason: 'NoUsableDisk' });
    expect(unavailableReasonOf(host)).toBe('without a disk that may be used');
    fixture.inventory.whyUnusable = () => undefined;
    expect((await fixture.look()).host.status?.state).toBe('Available');
  });

  test('waits when the inventory is unreachable, and stays available if it was already', async () => {
    await fixture.host('a');
    fixture.inventory.identify = throwUnreachable;
    const { host, result } = await fixture.look();
    expect(host.status?.state).toBe('Pending');
    expect(hostCondition(host, 'Ready')).toMatchObject({ status: 'Unknown', reason: 'PlatformUnreachable' });
    expect(result.requeueAfterSeconds).toBe(60);
    fixture.inventory.identify = async () => ({ server: seenServer });
    const known = (await fixture.look()).host;
    fixture.inventory.identify = throwUnreachable;
    expect((await fixture.look()).host.metadata.resourceVersion).toBe(known.metadata.resourceVersion);
  });

  test('is not available before a changed expectation is verified', async () => {
    await fixture.host('a');
    await fixture.look();
    await fixture.kube.merge(Host, { name: 'a' }, { spec: { expect: { product: 'EX44' } } });
    fixture.inventory.identify = throwUnreachable;
    expect((await fixture.look()).host.status?.state).toBe('Pending');
  });

  test('H9: is not available in maintenance', async () => {
    await fixture.host('a', { spec: { maintenance: true } });
    const { host } = await fixture.look();
    expect(host.status?.state).toBe('Maintenance');
    expect(hostCondition(host, 'Ready')).toMatchObject({ status: 'False', reason: 'InMaintenance' });
    await fixture.kube.merge(Host, { name: 'a' }, { spec: { maintenance: false } });
    expect((await fixture.look()).host.status?.state).toBe('Available');
  });

  test('without a ProviderConfig that uses it reports that, and causes no inventory call', async () => {
    await fixture.host('a', { metadata: { labels: { for: 'nobody' } } });
    fixture.inventory.identify = async () => {
      throw new Error('asked');
    };
    const { host } = await fixture.look();
    expect(host.status?.state).toBe('Pending');
    expect(hostCondition(host, 'Usable')).toMatchObject({ status: 'False', reason: 'NotUsed' });
    expect(host.metadata.finalizers).toBeUndefined();
  });

  test('of another provider is ignored', async () => {
    const before = await fixture.host('a');
    const services = { ...(await fixture.services()), provider: 'other' };
    await fixture.reconcile('a', services);
    expect((await fixture.get('a')).metadata.resourceVersion).toBe(before.metadata.resourceVersion);
  });

  test('P52: for a server that has another Host is not available', async () => {
    await fixture.host('a', { spec: { serverID: '7' } });
    await fixture.host('b', { spec: { serverID: '7' } });
    const { host } = await fixture.look('b');
    expect(host.status?.state).toBe('Failed');
    expect(hostCondition(host, 'Usable')).toMatchObject({
      reason: 'SameServer',
      message: expect.stringContaining('Host a'),
    });
    expect((await fixture.look('a')).host.status?.state).toBe('Available');
  });

  test('is deleted at once', async () => {
    await fixture.host('a');
    await fixture.look();
    await fixture.kube.remove(Host, { name: 'a' });
    await fixture.reconcile('a');
    expect(await fixture.kube.find(Host, { name: 'a' })).toBeUndefined();
  });

  test('H10: with a permanent error is not available until a user removes the error', async () => {
    await fixture.host('a', { metadata: { annotations: { [annotations.permanentError]: 'Its fan is broken.' } } });
    const { host } = await fixture.look();
    expect(host.status).toMatchObject({ state: 'Failed', message: 'Its fan is broken.' });
    expect(hostCondition(host, 'Usable')?.reason).toBe('PermanentError');
    await fixture.kube.merge(Host, { name: 'a' }, { metadata: { annotations: null } });
    expect((await fixture.look()).host.status?.state).toBe('Available');
  });
});

describe('a Host that a Machine holds', () => {
  test('keeps the state that its Machine wrote, even in maintenance, and reports the maintenance', async () => {
    const machine = await fixture.machine();
    await fixture.host('a', { spec: { maintenance: true }, status: statusHeldBy(machine) });
    const { host } = await fixture.look();
    expect(host.status).toMatchObject(statusHeldBy(machine));
    expect(hostCondition(host, 'Ready')).toMatchObject({
      reason: 'InMaintenance',
      message: expect.stringContaining(machine.metadata.name),
    });
  });

  test('is not deleted, and reports its holder', async () => {
    const machine = await fixture.machine();
    await fixture.host('a', { status: statusHeldBy(machine) });
    await fixture.look();
    await fixture.kube.remove(Host, { name: 'a' });
    const { host } = await fixture.look();
    expect(hostCondition(host, 'NotInUse')?.message).toContain(machine.metadata.name);
    expect(hostCondition(host, 'Ready')?.status).toBe('False');
  });

  test('is free again at once when its Machine is gone before any write to its disks', async () => {
    await fixture.host('a', { status: heldByDeletedMachine('Claimed') });
    const meanwhile: unknown[] = [];
    fixture.inventory.identify = async () => {
      meanwhile.push((await fixture.get('a')).status?.state);
      return { server: seenServer };
    };
    const { host } = await fixture.look();
    // It is not available before its identity is verified.
    expect(meanwhile).toEqual(['Pending']);
    expect(host.status?.state).toBe('Available');
    expect(host.status?.machineRef).toBeUndefined();
  });

  test.each(['Provisioned', 'Deprovisioning'] as const)(
    'needs a decision by a user when its Machine is gone: %s',
    async (state) => {
      await fixture.host('a', { status: heldByDeletedMachine(state) });
      const { host } = await fixture.look();
      expect(host.status).toMatchObject({ state: 'Failed', machineRef: { name: 'gone' } });
      expect(host.metadata.annotations?.[annotations.permanentError]).toContain('Machine gone does not exist any more');
      expect(hostCondition(host, 'Usable')?.reason).toBe('MachineGone');
      expect((await fixture.look()).host.metadata.resourceVersion).toBe(host.metadata.resourceVersion);
      await fixture.kube.merge(Host, { name: 'a' }, { metadata: { annotations: null } });
      const { host: decided } = await fixture.look();
      expect(decided.status?.state).toBe('Available');
      expect(decided.status?.machineRef).toBeUndefined();
    },
  );

  test('is not released while its Machine is only missing from the watch', async () => {
    const services = await fixture.services();
    const machine = await fixture.machine();
    await fixture.host('a', { status: statusHeldBy(machine, 'Claimed') });
    const hosts = (await fixture.services()).stores.hosts;
    await fixture.reconcile('a', { ...services, stores: { ...services.stores, hosts } });
    expect((await fixture.get('a')).status).toMatchObject(statusHeldBy(machine, 'Claimed'));
  });

  test("whose Machine is gone is deleted on a user's request", async () => {
    await fixture.host('a', {
      metadata: { finalizers: [finalizers.host] },
      status: heldByDeletedMachine('Provisioned'),
    });
    await fixture.kube.remove(Host, { name: 'a' });
    await fixture.reconcile('a');
    expect(await fixture.kube.find(Host, { name: 'a' })).toBeUndefined();
  });

  test('P41: is free again when a late claim gave its Machine two', async () => {
    const machine = await fixture.machine();
    const claim = statusHeldBy(machine, 'Claimed');
    await fixture.host('a', { status: claim });
    await fixture.host('b', {
      status: { ...claim, machineRef: { ...claim.machineRef, since: '2026-11-21T09:00:01Z' } },
    });
    expect((await fixture.look('b')).host.status?.state).toBe('Claimed');
    expect((await fixture.look('a')).host.status?.state).toBe('Available');
  });
});

test('a fleet of 1,000 ready Hosts is reconciled without a single call to the API server', async () => {
  const machine = await fixture.machine(0, true);
  await fixture.host('a');
  const free = (await fixture.look()).host;
  await fixture.host('b', { status: statusHeldBy(machine) });
  const taken = (await fixture.look('b')).host;
  const fleet = Array.from({ length: 1000 }, (_, n): Host => {
    const { metadata, spec, ...rest } = n === 0 ? taken : free;
    return {
      ...rest,
      metadata: { ...metadata, name: `host-${n}`, uid: `uid-${n}` },
      spec: { ...spec, serverID: `${n + 1}` },
    };
  });
  const silent = new Proxy(fixture.kube, { get: (_, name) => expect.unreachable(`${String(name)} was called`) });
  const services = await fixture.services(silent, fleet);
  for (const { metadata } of fleet)
    expect(await fixture.reconcile(metadata.name, services)).toEqual({ requeueAfterSeconds: 600 });
});

test('B7: a Host with the ignore annotation is not reconciled', async () => {
  const before = await fixture.host('a', { metadata: { annotations: { 'openmcp.cloud/operation': 'ignore' } } });
  await fixture.look();
  expect((await fixture.get('a')).metadata.resourceVersion).toBe(before.metadata.resourceVersion);
});
