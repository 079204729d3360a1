import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { Host } from '../../../src/api/host.ts';
import { Machine } from '../../../src/api/machine.ts';
import { annotations, finalizers } from '../../../src/api/names.ts';
import type { HostHardware } from '../../../src/engine/host.ts';
import { fail, wait } from '../../../src/engine/step.ts';
import {
  HostHarness,
  hostCondition,
  seenServer,
  statusHeldBy,
  taskStep,
  throwUnreachable,
} from '../../support/harness/host-harness.ts';

let fixture: HostHarness;
beforeAll(async () => {
  fixture = await HostHarness.open();
});
afterAll(async () => await fixture.close());
beforeEach(async () => await fixture.reset());

const withTaskAnnotation = (plan: 'inspect' | 'reboot') => ({ metadata: { annotations: { [annotations[plan]]: '' } } });

const hardware: HostHardware = {
  cpu: { model: 'AMD Ryzen 5', threads: 12 },
  memoryMiB: 65536,
  firmware: 'uefi',
  nics: [{ name: 'eth0', mac: '02:00:00:00:00:01', speedMbps: 1000 }],
  disks: [{ name: 'nvme0n1', model: 'M', serial: 'S1', wwn: '', sizeBytes: 512e9, type: 'nvme', holds: [] }],
  inspectedAt: '2026-11-21T09:00:00Z',
};

describe('an inspection', () => {
  test("H29: starts on a user's request, blocks claims, and records its results", async () => {
    await fixture.host('a', withTaskAnnotation('inspect'));
    const during: (Host | string[])[] = [];
    fixture.inventory.inspect = [
      taskStep('first', async () => {
        during.push(await fixture.get('a'));
        const hosts = (await fixture.services()).hosts.of(await fixture.machine(), new AbortController().signal);
        const claim = await hosts.claim(() => undefined);
        if ('rejected' in claim) during.push([...claim.rejected.keys()]);
      }),
      taskStep('second', ({ updateStatus }) => updateStatus({ hardware })),
    ];
    await fixture.look();
    const { host } = await fixture.look();
    expect(during).toMatchObject([
      { status: { task: { plan: 'inspect', step: 'first' } } },
      ['being inspected or rebooted'],
    ]);
    expect((during[0] as Host).metadata.annotations).toBeUndefined();
    expect(host.status).toMatchObject({ state: 'Available', hardware });
    expect(host.status?.task).toBeUndefined();
    expect(hostCondition(host, 'Inspected')?.status).toBe('True');
    expect(fixture.messages).toEqual(expect.arrayContaining(['Normal HardwareFound', 'Normal Inspected']));
  });

  test("starts with the inventory's data of the server, and may add to it", async () => {
    const addresses: unknown[] = [];
    fixture.inventory.inspect = [
      taskStep('first', async ({ host, updateStatus }) => {
        addresses.push(host.server?.address);
        await updateStatus({ platformStatus: { resetTypes: ['hw', 'sw'] } });
      }),
    ];
    await fixture.host('a', withTaskAnnotation('inspect'));
    const { host } = await fixture.look();
    expect(addresses).toEqual([seenServer.address]);
    expect(host.status).toMatchObject({ server: seenServer, hetznerRobot: { resetTypes: ['hw', 'sw'] } });
  });

  test('H30: continues where it was when the process died, and does not restart', async () => {
    const runs: string[] = [];
    let dies = true;
    fixture.inventory.inspect = [
      taskStep('first', async () => void runs.push('first')),
      taskStep('second', async () => {
        runs.push('second');
        if (dies) throw new Error('dead');
      }),
    ];
    await fixture.host('a', withTaskAnnotation('inspect'));
    await fixture.look();
    dies = false;
    const { host } = await fixture.look();
    expect(runs).toEqual(['first', 'second', 'second']);
    expect(hostCondition(host, 'Inspected')?.status).toBe('True');
    expect(hostCondition(host, 'Ready')?.status).toBe('True');
  });

  test('continues from the last saved record, whatever the watch contains', async () => {
    const task = { plan: 'inspect', step: 'first', since: '2026-11-21T09:00:00Z', failures: 0, facts: {} } as const;
    const runs: string[] = [];
    fixture.inventory.inspect = ['first', 'second'].map((name) => taskStep(name, async () => void runs.push(name)));
    await fixture.host('a', { status: { state: 'Available', task } });
    const before = await fixture.services();
    const status = { task: { step: 'second' } };
    await fixture.kube.merge(Host, { name: 'a' }, { status }, { subresource: 'status' });
    await fixture.reconcile('a', before);
    expect(runs).toEqual(['second']);
  });

  test('that is requested while one ends is another one; until then the running one serves the request', async () => {
    const runs: string[] = [];
    // During the first run of these, whose record can then not be written: it is repeated.
    const requestedIn = new Set(['first', 'last']);
    fixture.inventory.inspect = ['first', 'second', 'last'].map((name) =>
      taskStep(name, async () => {
        runs.push(name);
        if (requestedIn.delete(name)) await fixture.kube.merge(Host, { name: 'a' }, withTaskAnnotation('inspect'));
      }),
    );
    await fixture.host('a', withTaskAnnotation('inspect'));
    for (let turn = 0; turn < 8; turn += 1) await fixture.look().catch(() => {});
    expect(runs).toEqual(['first', 'first', 'second', 'last', 'last', 'first', 'second', 'last']);
    expect((await fixture.get('a')).metadata.annotations).toBeUndefined();
  });

  test.each([
    ['begins', 'first', undefined],
    ['ends', 'second', { [annotations.reboot]: '' }],
  ])('of a reboot that was requested when a process ended as it %s', async (_, step, left) => {
    const task = { plan: 'reboot', step, since: '2026-11-21T09:00:00Z', failures: 0, facts: {} } as const;
    fixture.inventory.reboot = [
      taskStep('first', async () => {}),
      taskStep('second', async () => wait(15, 'It boots.')),
    ];
    await fixture.host('a', { ...withTaskAnnotation('reboot'), status: { state: 'Available', task } });
    await fixture.look();
    expect((await fixture.get('a')).metadata.annotations).toEqual(left);
  });

  test('that waits reports the reason, and Ready is not True meanwhile', async () => {
    fixture.inventory.inspect = [taskStep('slow', async () => wait(15, 'It boots.'))];
    await fixture.host('a', withTaskAnnotation('inspect'));
    const { host, result } = await fixture.look();
    expect(result.requeueAfterSeconds).toBe(15);
    expect(host.status?.message).toBe('slow: It boots.');
    expect(hostCondition(host, 'Ready')?.status).toBe('False');
  });

  test.each([
    ['a step fails', () => taskStep('bad', async () => fail('Odd', 'It is odd.')), 'Odd', 'bad: It is odd.'],
    [
      'a step takes too long',
      () => ({ ...taskStep('slow', async () => wait(15, 'It boots.')), deadlineMinutes: -1 }),
      'Overdue',
      'slow: It boots.',
    ],
  ] as const)('is over when %s, and the Host is available again', async (_, make, reason, message) => {
    fixture.inventory.inspect = [make()];
    await fixture.host('a', withTaskAnnotation('inspect'));
    const { host } = await fixture.look();
    expect(hostCondition(host, 'Inspected')).toMatchObject({ status: 'False', reason, message });
    expect(host.status?.task).toBeUndefined();
    expect(host.status?.state).toBe('Available');
    expect(fixture.messages).toContain('Warning InspectFailed');
  });

  test('is rejected while a Machine holds the server', async () => {
    const machine = await fixture.machine(0, true);
    await fixture.host('a', { ...withTaskAnnotation('inspect'), status: statusHeldBy(machine) });
    fixture.inventory.inspect = [taskStep('never', async () => expect.unreachable())];
    const { host } = await fixture.look();
    expect(hostCondition(host, 'Inspected')).toMatchObject({ status: 'False', reason: 'InUse' });
    expect(host.metadata.annotations).toBeUndefined();
    expect(fixture.messages).toContain('Warning InspectRejected');
  });

  test('does not start when a Machine claims the server at the same moment', async () => {
    await fixture.host('a', withTaskAnnotation('inspect'));
    await fixture.look('a').catch(() => undefined);
    await fixture.kube.merge(Host, { name: 'a' }, withTaskAnnotation('inspect'));
    const runs: string[] = [];
    fixture.inventory.inspect = [taskStep('first', async () => void runs.push('first'))];
    fixture.inventory.identify = async () => {
      const hosts = (await fixture.services()).hosts.of(await fixture.machine(), new AbortController().signal);
      expect(await hosts.claim(() => undefined)).toMatchObject({ name: 'a' });
      return { server: seenServer };
    };
    await expect(fixture.reconcile('a')).rejects.toMatchObject({ status: 409 });
    fixture.inventory.identify = async () => ({ server: seenServer });
    const { host } = await fixture.look();
    expect(runs).toEqual([]);
    expect(hostCondition(host, 'Inspected')?.reason).toBe('InUse');
    expect(host.status?.state).toBe('Claimed');
  });

  test('of a server in maintenance runs: it is the way to check a server before its use', async () => {
    fixture.inventory.inspect = [taskStep('look', ({ updateStatus }) => updateStatus({ hardware }))];
    await fixture.host('a', { ...withTaskAnnotation('inspect'), spec: { maintenance: true } });
    const { host } = await fixture.look();
    expect(host.status).toMatchObject({ state: 'Maintenance', hardware });
  });

  test('is rejected for a server other than the expected one', async () => {
    fixture.inventory.inspect = [taskStep('never', async () => expect.unreachable())];
    fixture.inventory.identify = async () => ({ refused: 'It is an EX44.' });
    await fixture.host('a', withTaskAnnotation('inspect'));
    const { host } = await fixture.look();
    expect(hostCondition(host, 'Inspected')).toMatchObject({ reason: 'NotIdentified', message: 'It is an EX44.' });
  });

  test("waits while the server's identity cannot be verified", async () => {
    fixture.inventory.inspect = [taskStep('never', async () => expect.unreachable())];
    fixture.inventory.identify = throwUnreachable;
    await fixture.host('a', withTaskAnnotation('inspect'));
    const { host, result } = await fixture.look();
    expect(host.metadata.annotations).toHaveProperty([annotations.inspect]);
    expect(hostCondition(host, 'Inspected')?.reason).toBe('PlatformUnreachable');
    expect(result.requeueAfterSeconds).toBe(60);
  });
});

describe('a reboot', () => {
  test('of a server in use runs, and reports that', async () => {
    const machine = await fixture.machine(0, true);
    const owners: string[] = [];
    fixture.inventory.reboot = [taskStep('reset', async ({ owner }) => void owners.push(owner.machine))];
    await fixture.host('a', { ...withTaskAnnotation('reboot'), status: statusHeldBy(machine) });
    const { host } = await fixture.look();
    expect(owners).toEqual([machine.metadata.name]);
    expect(hostCondition(host, 'Rebooted')?.status).toBe('True');
    expect(host.metadata.annotations).toBeUndefined();
    expect(fixture.messages).toContain('Normal Rebooted');
  });

  test('waits until the Machine is provisioned: it would interrupt the writes', async () => {
    const machine = await fixture.machine(0, false);
    fixture.inventory.reboot = [taskStep('never', async () => expect.unreachable())];
    await fixture.host('a', { ...withTaskAnnotation('reboot'), status: statusHeldBy(machine) });
    const { host } = await fixture.look();
    expect(hostCondition(host, 'Rebooted')).toMatchObject({ status: 'False', reason: 'WaitingForMachines' });
    expect(host.metadata.annotations).toHaveProperty([annotations.reboot]);
  });

  test('is rejected while the Machine is being released', async () => {
    const machine = await fixture.machine(0, true);
    await fixture.kube.merge(
      Machine,
      { name: machine.metadata.name },
      { metadata: { finalizers: [finalizers.machine] } },
    );
    await fixture.kube.remove(Machine, { name: machine.metadata.name });
    fixture.inventory.reboot = [taskStep('never', async () => expect.unreachable())];
    await fixture.host('a', { ...withTaskAnnotation('reboot'), status: statusHeldBy(machine) });
    const { host } = await fixture.look();
    expect(hostCondition(host, 'Rebooted')?.reason).toBe('Releasing');
  });

  test('of a free server runs', async () => {
    const runs: string[] = [];
    fixture.inventory.reboot = [taskStep('reset', async () => void runs.push('reset'))];
    await fixture.host('a', withTaskAnnotation('reboot'));
    expect(hostCondition((await fixture.look()).host, 'Rebooted')?.status).toBe('True');
    expect(runs).toEqual(['reset']);
  });
});
