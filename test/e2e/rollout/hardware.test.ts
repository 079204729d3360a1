import { describe, expect, it } from 'vitest';
import { findFalseCondition, isConditionTrue } from '../../../src/api/conditions.ts';
import type { Machine } from '../../../src/api/machine.ts';
import { ProviderConfig } from '../../../src/api/provider-config.ts';
import { Event } from '../../../src/kube/event-recorder.ts';
import { eventually } from '../../support/eventually.ts';
import { KubeNode } from '../../support/fixtures/kube-node.ts';
import { callNas } from '../support/access/nas.ts';
import { withAdminClient } from '../support/access/workload-cluster.ts';
import { prepareTestbed, startTestbed } from '../support/testbed/testbed-hooks.ts';

const open = startTestbed({ subnet: '127.42.225' });
const ref = { namespace: 'shop', name: 'sized' };

const machines = () => open().objects.machines(ref);
const isUpToDate = ({ status }: Machine) => isConditionTrue(status?.conditions, 'UpToDate');
const conditionOf = async () =>
  (await open().objects.getCluster(ref)).status?.conditions?.find(({ type }) => type === 'UpToDate');
const changeConfig = (spec: object) => open().platform.merge(ProviderConfig, { name: 'home' }, { spec });
const small = { name: 'small', cpus: 2, memoryMiB: 2048, diskGiB: 20 };
const large = { name: 'large', cpus: 4, memoryMiB: 3072, diskGiB: 20 };
const changeSizes = (...sizes: object[]) => changeConfig({ truenas: { sizes } });
const virtualMachines = async () =>
  (await callNas(open(), 'vm.query', [])) as { name: string; cores: number; memory: number; status: { pid: number } }[];

/** The Machines that were changed, in this order. */
async function listUpdated(): Promise<string[]> {
  const { items } = await open().platform.list(Event, {});
  return items
    .filter(({ reason }) => reason === 'Updated')
    .sort((a, b) => Number(a.metadata.resourceVersion) - Number(b.metadata.resourceVersion))
    .map(({ involvedObject }) => String(involvedObject.name));
}

/** How many of the Machines that are up to date have this hardware. Never more than one is in hand. */
async function countWith(hardware: string): Promise<number> {
  const all = await machines();
  expect(all.filter(({ status }) => status?.progress?.plan === 'update').length).toBeLessThanOrEqual(1);
  return all.filter((machine) => isUpToDate(machine) && machine.status?.applied?.hardware === hardware).length;
}

prepareTestbed(open, async ({ objects }) => {
  await objects.credentials();
  await objects.config('home', {
    controlPlanes: 3,
    workers: 2,
    change: (spec) => void Object.assign(spec.truenas ?? {}, { sizes: [small, large] }),
  });
  await objects.cluster(ref);
  await eventually('it is up to date', async () => (await conditionOf())?.status === 'True', 200);
});

describe('D11: a change of a size', () => {
  it('reaches the machines of a cluster, one at a time, each off once and after its drain', async () => {
    expect(await countWith('2 CPUs (host), 2048 MiB')).toBe(5);
    const before = await virtualMachines();
    await changeSizes({ ...small, memoryMiB: 2560 }, large);
    await eventually('the field is named', async () => {
      const all = await machines();
      const found = all.find(({ status }) => status?.pending?.class === 'hardware');
      const message = findFalseCondition(found?.status?.conditions, 'UpToDate')?.message ?? '';
      // The label with the instance type is another field: it names the memory, too.
      return found?.status?.pending?.fields.includes('size.memoryMiB') === true && message.includes('size.memoryMiB');
    });
    await eventually('all have it', async () => (await countWith('2 CPUs (host), 2560 MiB')) === 5, 300);
    const after = await virtualMachines();
    expect(after.map(({ memory }) => memory)).toEqual(after.map(() => 2560));
    for (const { name, status } of before)
      expect(after.find((one) => one.name === name)?.status.pid).not.toBe(status.pid);
    const updated = await listUpdated();
    expect(updated.map((name) => (name.includes('-cp-') ? 'cp' : 'work'))).toEqual(['cp', 'cp', 'cp', 'work', 'work']);
    const { items } = await open().platform.list(Event, {});
    expect(items.filter(({ reason }) => reason === 'PoweredOff')).toEqual([]);
    await withAdminClient(open(), ref, async (admin) =>
      expect((await admin.list(KubeNode)).items.filter(({ spec }) => spec?.unschedulable)).toEqual([]),
    );
    expect((await open().objects.getCluster(ref)).status?.phase).toBe('Ready');
  });

  it('and another size of a pool, which the Machines of this pool follow alone', async () => {
    await changeConfig({ workerPools: [{ name: 'work', replicas: 2, size: 'large' }] });
    await eventually('the workers have it', async () => (await countWith('4 CPUs (host), 3072 MiB')) === 2, 200);
    expect((await machines()).map(({ spec }) => spec.size)).toEqual(['small', 'small', 'small', 'large', 'large']);
    await eventually('the Cluster is up to date', async () => (await conditionOf())?.status === 'True');
  });

  it('waits before the drain while the system lacks the memory, and can be taken back', async () => {
    await changeSizes({ ...small, memoryMiB: 2560 }, { ...large, memoryMiB: 8_000_000 });
    const message = await eventually('it says so', async () => {
      const found = (await machines()).map(({ status }) => findFalseCondition(status?.conditions, 'UpToDate'));
      return found.find((one) => one?.reason === 'InsufficientMemory')?.message;
    });
    expect(message).toMatch(/more to start with its new hardware\. Reduce the memory of the size/);
    await changeSizes({ ...small, memoryMiB: 2560 }, large);
    await eventually('it is up to date', async () => (await conditionOf())?.status === 'True', 100);
    expect(await countWith('4 CPUs (host), 3072 MiB')).toBe(2);
  });
});
