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

let scene: HostHarness;
beforeAll(async () => {
  scene = await HostHarness.open();
});
afterAll(async () => await scene.close());
beforeEach(async () => await scene.reset());

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
    await scene.host('a', withTaskAnnotation('inspect'));
    const during: (Host | string[])[] = [];
    scene.inventory.inspect = [
      taskStep('first', async () => {
        during.push(await scene.get('a'));
        const hosts = (await scene.services()).hosts.of(await scene.machine(), new AbortController().signal);
        const claim = await hosts.claim(() => undefined);
        if ('rejected' in claim) during.push([...claim.rejected.keys()]);
      }),
      taskStep('second', ({ note }) => note({ hardware })),
    ];
    await scene.look();
    const { host } = await scene.look();
    expect(during).toMatchObject([
      { status: { task: { plan: 'inspect', step: 'first' } } },
      ['being inspected or rebooted'],
    ]);
    expect((during[0] as Host).metadata.annotations).toBeUndefined();
    expect(host.status).toMatchObject({ state: 'Available', hardware });
    expect(host.status?.task).toBeUndefined();
    expect(hostCondition(host, 'Inspected')?.status).toBe('True');
    expect(scene.said).toEqual(expect.arrayContaining(['Normal HardwareFound', 'Normal Inspected']));
  });

  test("starts with the inventory's data of the server, and may add to it", async () => {
    const addresses: unknown[] = [];
    scene.inventory.inspect = [
      taskStep('first', async ({ host, note }) => {
        addresses.push(host.server?.address);
        await note({ server: { ...seenServer, resetTypes: ['hw', 'sw'] } });
      }),
    ];
    await scene.host('a', withTaskAnnotation('inspect'));
    const { host } = await scene.look();
    expect(addresses).toEqual([seenServer.address]);
    expect(host.status?.server?.resetTypes).toEqual(['hw', 'sw']);
  });

  test('H30: continues where it was when the process died, and does not restart', async () => {
    const runs: string[] = [];
    let dies = true;
    scene.inventory.inspect = [
      taskStep('first', async () => void runs.push('first')),
      taskStep('second', async () => {
        runs.push('second');
        if (dies) throw new Error('dead');
      }),
    ];
    await scene.host('a', withTaskAnnotation('inspect'));
    await scene.look();
    dies = false;
    const { host } = await scene.look();
    expect(runs).toEqual(['first', 'second', 'second']);
    expect(hostCondition(host, 'Inspected')?.status).toBe('True');
    expect(hostCondition(host, 'Ready')?.status).toBe('True');
  });

  test('continues from the last saved record, whatever the watch contains', async () => {
    const task = { plan: 'inspect', step: 'first', since: '2026-11-21T09:00:00Z', failures: 0, facts: {} } as const;
    const runs: string[] = [];
    scene.inventory.inspect = ['first', 'second'].map((name) => taskStep(name, async () => void runs.push(name)));
    await scene.host('a', { status: { state: 'Available', task } });
    const before = await scene.services();
    const status = { task: { step: 'second' } };
    await scene.kube.merge(Host, { name: 'a' }, { status }, { subresource: 'status' });
    await scene.reconcile('a', before);
    expect(runs).toEqual(['second']);
  });

  test('that waits reports the reason, and Ready is not True meanwhile', async () => {
    scene.inventory.inspect = [taskStep('slow', async () => wait(15, 'It boots.'))];
    await scene.host('a', withTaskAnnotation('inspect'));
    const { host, result } = await scene.look();
    expect(result.againInSeconds).toBe(15);
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
    scene.inventory.inspect = [make()];
    await scene.host('a', withTaskAnnotation('inspect'));
    const { host } = await scene.look();
    expect(hostCondition(host, 'Inspected')).toMatchObject({ status: 'False', reason, message });
    expect(host.status?.task).toBeUndefined();
    expect(host.status?.state).toBe('Available');
    expect(scene.said).toContain('Warning InspectFailed');
  });

  test('is rejected while a Machine holds the server', async () => {
    const machine = await scene.machine(0, true);
    await scene.host('a', { ...withTaskAnnotation('inspect'), status: statusHeldBy(machine) });
    scene.inventory.inspect = [taskStep('never', async () => expect.unreachable())];
    const { host } = await scene.look();
    expect(hostCondition(host, 'Inspected')).toMatchObject({ status: 'False', reason: 'InUse' });
    expect(host.metadata.annotations).toBeUndefined();
    expect(scene.said).toContain('Warning InspectRefused');
  });

  test('does not start when a Machine claims the server at the same moment', async () => {
    await scene.host('a', withTaskAnnotation('inspect'));
    await scene.look('a').catch(() => undefined);
    await scene.kube.merge(Host, { name: 'a' }, withTaskAnnotation('inspect'));
    const runs: string[] = [];
    scene.inventory.inspect = [taskStep('first', async () => void runs.push('first'))];
    scene.inventory.identify = async () => {
      const hosts = (await scene.services()).hosts.of(await scene.machine(), new AbortController().signal);
      expect(await hosts.claim(() => undefined)).toMatchObject({ name: 'a' });
      return { server: seenServer };
    };
    await expect(scene.reconcile('a')).rejects.toMatchObject({ status: 409 });
    scene.inventory.identify = async () => ({ server: seenServer });
    const { host } = await scene.look();
    expect(runs).toEqual([]);
    expect(hostCondition(host, 'Inspected')?.reason).toBe('InUse');
    expect(host.status?.state).toBe('Claimed');
  });

  test('of a server in maintenance runs: it is the way to check a server before its use', async () => {
    scene.inventory.inspect = [taskStep('look', ({ note }) => note({ hardware }))];
    await scene.host('a', { ...withTaskAnnotation('inspect'), spec: { maintenance: true } });
    const { host } = await scene.look();
    expect(host.status).toMatchObject({ state: 'Maintenance', hardware });
  });

  test('is rejected for a server other than the expected one', async () => {
    scene.inventory.inspect = [taskStep('never', async () => expect.unreachable())];
    scene.inventory.identify = async () => ({ refused: 'It is an EX44.' });
    await scene.host('a', withTaskAnnotation('inspect'));
    const { host } = await scene.look();
    expect(hostCondition(host, 'Inspected')).toMatchObject({ reason: 'NotIdentified', message: 'It is an EX44.' });
  });

  test("waits while the server's identity cannot be verified", async () => {
    scene.inventory.inspect = [taskStep('never', async () => expect.unreachable())];
    scene.inventory.identify = throwUnreachable;
    await scene.host('a', withTaskAnnotation('inspect'));
    const { host, result } = await scene.look();
    expect(host.metadata.annotations).toHaveProperty([annotations.inspect]);
    expect(hostCondition(host, 'Inspected')?.reason).toBe('PlatformUnreachable');
    expect(result.againInSeconds).toBe(60);
  });
});

describe('a reboot', () => {
  test('of a server in use runs, and reports that', async () => {
    const machine = await scene.machine(0, true);
    const owners: string[] = [];
    scene.inventory.reboot = [taskStep('reset', async ({ owner }) => void owners.push(owner.machine))];
    await scene.host('a', { ...withTaskAnnotation('reboot'), status: statusHeldBy(machine) });
    const { host } = await scene.look();
    expect(owners).toEqual([machine.metadata.name]);
    expect(hostCondition(host, 'Rebooted')?.status).toBe('True');
    expect(host.metadata.annotations).toBeUndefined();
    expect(scene.said).toContain('Normal Rebooted');
  });

  test('waits until the Machine is provisioned: it would interrupt the writes', async () => {
    const machine = await scene.machine(0, false);
    scene.inventory.reboot = [taskStep('never', async () => expect.unreachable())];
    await scene.host('a', { ...withTaskAnnotation('reboot'), status: statusHeldBy(machine) });
    const { host } = await scene.look();
    expect(hostCondition(host, 'Rebooted')).toMatchObject({ status: 'False', reason: 'WaitingForMachines' });
    expect(host.metadata.annotations).toHaveProperty([annotations.reboot]);
  });

  test('is rejected while the Machine is being released', async () => {
    const machine = await scene.machine(0, true);
    await scene.kube.merge(
      Machine,
      { name: machine.metadata.name },
      { metadata: { finalizers: [finalizers.machine] } },
    );
    await scene.kube.remove(Machine, { name: machine.metadata.name });
    scene.inventory.reboot = [taskStep('never', async () => expect.unreachable())];
    await scene.host('a', { ...withTaskAnnotation('reboot'), status: statusHeldBy(machine) });
    const { host } = await scene.look();
    expect(hostCondition(host, 'Rebooted')?.reason).toBe('Releasing');
  });

  test('of a free server runs', async () => {
    const runs: string[] = [];
    scene.inventory.reboot = [taskStep('reset', async () => void runs.push('reset'))];
    await scene.host('a', withTaskAnnotation('reboot'));
    expect(hostCondition((await scene.look()).host, 'Rebooted')?.status).toBe('True');
    expect(runs).toEqual(['reset']);
  });
});
