import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isConditionTrue } from '../../../src/api/conditions.ts';
import { Machine } from '../../../src/api/machine.ts';
import { annotations, labels, machineName, nodePoolName } from '../../../src/api/names.ts';
import { NodePool } from '../../../src/api/node-pool.ts';
import { Cluster } from '../../../src/api/openmcp/types.ts';
import { ProviderConfig } from '../../../src/api/provider-config.ts';
import { Lease } from '../../../src/kube/core-types.ts';
import { Event } from '../../../src/kube/event-recorder.ts';
import { missingPeers } from '../../peers/find-peer.ts';
import { eventually } from '../../support/eventually.ts';
import { type KubectlRunner, openKubectlRunner } from '../support/access/kubectl.ts';
import { callNas } from '../support/access/nas.ts';
import { deletionsSince, phasesSince } from '../support/observation/scaling.ts';
import { prepareTestbed, startTestbed } from '../support/testbed/testbed-hooks.ts';

const open = startTestbed({ subnet: '127.42.220' });
const cluster = { namespace: 'shop', name: 'scaled' };
const nameOf = (slot: number, pool = 'work') => machineName(cluster, pool, slot);
const poolNamed = (pool: string) => ({ name: nodePoolName(cluster, pool) });

type Pool = Readonly<Record<string, unknown>>;
const work = (more: Pool): Pool => ({ name: 'work', size: 'small', ...more });
const extra: Pool = { name: 'extra', replicas: 1, size: 'small' };
const change = (...workerPools: readonly Pool[]) =>
  open().platform.merge(ProviderConfig, { name: 'home' }, { spec: { workerPools: [...workerPools] } as object });

const machines = () => open().objects.machines(cluster);
const slots = async (pool: string) =>
  (await machines()).filter(({ spec }) => spec.pool === pool).map(({ spec }) => spec.slot);
const isReady = ({ status }: Machine) => isConditionTrue(status?.conditions, 'Ready');
const has = async (pool: string, ...wanted: readonly number[]): Promise<boolean> =>
  (await slots(pool)).join() === wanted.join() && (await machines()).every(isReady);
const nodePool = (pool = 'work') => open().platform.get(NodePool, poolNamed(pool));
const virtualMachines = async () => (await callNas(open(), 'vm.query', [])) as { name: string }[];

prepareTestbed(open, async ({ objects }) => {
  await objects.credentials();
  await objects.config('home', {
    change: (spec) => void Object.assign(spec, { workerPools: [work({ replicas: 3 }), extra] }),
  });
  await objects.cluster(cluster);
  const isClusterReady = async () => (await objects.getCluster(cluster)).status?.phase === 'Ready';
  await eventually('the Cluster is ready', isClusterReady, 200);
});

it('each worker pool has a NodePool with the numbers of its Machines', async () => {
  await eventually('the numbers are there', async () => (await nodePool()).status?.readyReplicas === 3);
  const { metadata, spec, status } = await nodePool();
  expect(spec).toMatchObject({ pool: 'work', replicas: 3, clusterRef: cluster });
  expect(status).toMatchObject({ replicas: 3, readyReplicas: 3, desiredReplicas: 3 });
  const found = await open().platform.list(Machine, { labelSelector: status?.selector });
  expect(found.items).toHaveLength(3);
  expect(metadata.labels?.[labels.provider]).toBe('talos');
  expect((await nodePool('extra')).spec.replicas).toBe(1);
});

it('fewer replicas delete the highest slots, one after the other, and the Cluster stays ready', async () => {
  const since = new Date();
  const before = await virtualMachines();
  await change(work({ replicas: 1 }), extra);
  await eventually('one is left', () => has('work', 0), 100);
  expect(deletionsSince(open(), since)).toEqual({ most: 1, names: [nameOf(2), nameOf(1)] });
  expect(phasesSince(open(), cluster, since)).toEqual(['Ready']);
  expect(await virtualMachines()).toHaveLength(before.length - 2);
  const { items } = await open().platform.list(Lease, { namespace: open().namespace, labelSelector: labels.address });
  // Three Machines and the endpoint.
  expect(items).toHaveLength(4);
  await eventually('the NodePool follows', async () => (await nodePool()).status?.replicas === 1);
});

it('D40: the annotation delete-first decides which one goes, the others keep their slots, and a new one gets its slot', async () => {
  await change(work({ replicas: 3 }), extra);
  await eventually('there are three', () => has('work', 0, 1, 2), 100);
  const uids = async () => Object.fromEntries((await machines()).map(({ metadata }) => [metadata.name, metadata.uid]));
  const before = await uids();
  await open().objects.annotate(Machine, { name: nameOf(0) }, { [annotations.deleteFirst]: 'true' });
  await change(work({ replicas: 2 }), extra);
  await eventually('it is gone', () => has('work', 1, 2), 100);
  await change(work({ replicas: 3 }), extra);
  await eventually('the slot is taken again', () => has('work', 0, 1, 2), 100);
  const after = await uids();
  for (const slot of [1, 2]) expect(after[nameOf(slot)]).toBe(before[nameOf(slot)]);
  expect(after[nameOf(0)]).not.toBe(before[nameOf(0)]);
});

it('a worker that a user deletes is made again under its name, as the last one of its pool, too', async () => {
  for (const name of [nameOf(1), nameOf(0, 'extra')]) {
    const { metadata } = await open().platform.get(Machine, { name });
    await open().objects.remove(Machine, { name });
    await eventually(
      'there is another',
      async () => {
        const found = await open().platform.find(Machine, { name });
        return found !== undefined && found.metadata.uid !== metadata.uid && isReady(found);
      },
      100,
    );
  }
  expect(await slots('work')).toEqual([0, 1, 2]);
});

it('D29: a workload that has to be available holds up the deletion of ready workers of several pools, and is named', async () => {
  const check = { kind: 'Deployment', namespace: 'default', name: 'shop' };
  const checks = (...healthChecks: object[]) =>
    open().platform.merge(ProviderConfig, { name: 'home' }, { spec: { rollout: { healthChecks } } as object });
  await change(work({ replicas: 3 }), { ...extra, replicas: 2 });
  await eventually('there is one more', () => has('extra', 0, 1), 100);
  await checks(check);
  await change(work({ replicas: 2 }), extra);
  await eventually('the Cluster says so', async () => {
    const { status } = await open().objects.getCluster(cluster);
    const message = status?.conditions?.find(({ type }) => type === 'MachinesReady')?.message ?? '';
    return message.includes('Deployment default/shop of spec.rollout.healthChecks does not exist in the cluster.');
  });
  expect(await slots('work')).toEqual([0, 1, 2]);
  expect(await slots('extra')).toEqual([0, 1]);
  await checks();
  await eventually('two are left', () => has('work', 0, 1), 100);
  await eventually('one is left', () => has('extra', 0), 100);
  await change(work({ replicas: 3 }), extra);
  await eventually('there are three again', () => has('work', 0, 1, 2), 100);
});

it('a NodePool that is deleted is made again', async () => {
  const { metadata } = await nodePool();
  await open().platform.remove(NodePool, poolNamed('work'));
  await eventually('there is another', async () => {
    const found = await open().platform.find(NodePool, poolNamed('work'));
    return found !== undefined && found.metadata.uid !== metadata.uid && found.spec.replicas === 3;
  });
});

describe('kubectl scale', () => {
  const missing = missingPeers('kubectl');
  if (missing) {
    it('scales NodePools', ({ skip }) => skip(missing));
    return;
  }
  let kubectl: KubectlRunner;
  beforeAll(async () => {
    kubectl = await openKubectlRunner(await readFile(open().world.kubeconfig, 'utf8'));
  });
  afterAll(async () => await kubectl?.close());
  const scale = (replicas: number) => kubectl.says(['scale', 'tnp', poolNamed('work').name, `--replicas=${replicas}`]);

  it('is undone without limits, and an Event says what to do', async () => {
    await scale(1);
    await eventually('it is reset', async () => (await nodePool()).spec.replicas === 3);
    const message = await eventually('the Event is there', async () => {
      const { items } = await open().platform.list(Event, {});
      return items.find(({ reason }) => reason === 'ReplicasReset')?.message;
    });
    expect(message).toMatch(/^spec\.replicas was set back from 1 to 3: .*set minReplicas and maxReplicas there/);
    expect(await slots('work')).toEqual([0, 1, 2]);
  });

  it('changes the number of nodes within the limits, and replicas of the worker pool is only the beginning', async () => {
    const since = new Date();
    await change(work({ replicas: 3, minReplicas: 1, maxReplicas: 4 }), extra);
    await eventually('the limits are shown', async () => (await nodePool()).status?.maxReplicas === 4);
    await scale(1);
    await eventually('one is left', () => has('work', 0), 100);
    expect(phasesSince(open(), cluster, since)).toEqual(['Ready']);
    await scale(2);
    await eventually('there are two', () => has('work', 0, 1), 100);
    expect((await nodePool()).spec.replicas).toBe(2);
    const table = await kubectl.says(['get', 'tnp', poolNamed('work').name]);
    expect(table).toMatch(/NAME +CLUSTER +POOL +DESIRED +READY +MIN +MAX +AGE/);
    expect(table).toMatch(/scaled +work +2 +2 +1 +4 /);
  });

  it('beyond the limits is cut, which the status says', async () => {
    await scale(9);
    await eventually('there are four', () => has('work', 0, 1, 2, 3), 100);
    const limits = await eventually('the status says so', async () =>
      (await nodePool()).status?.conditions.find(({ type, status }) => type === 'WithinLimits' && status === 'False'),
    );
    expect(limits).toMatchObject({
      reason: 'ReplicasOutOfRange',
      message: expect.stringMatching(/^spec\.replicas: 9 /),
    });
    expect((await nodePool()).spec.replicas).toBe(9);
    await scale(1);
    await eventually('one is left', () => has('work', 0), 100);
  });
});

it('a worker pool that is removed loses its Machines, then its NodePool', async () => {
  const since = new Date();
  await change(work({ replicas: 1 }));
  await eventually('its Machine is gone', async () => (await slots('extra')).length === 0, 100);
  await eventually('its NodePool is gone', async () => !(await open().platform.find(NodePool, poolNamed('extra'))));
  expect(phasesSince(open(), cluster, since)).toEqual(['Ready']);
  expect(deletionsSince(open(), since).names).toEqual([nameOf(0, 'extra')]);
});

it('no NodePool outlives its Cluster', async () => {
  await open().objects.remove(Cluster, cluster);
  await eventually('it is gone', async () => !(await open().objects.exists(Cluster, cluster)), 60);
  expect((await open().platform.list(NodePool, {})).items).toEqual([]);
  expect(open().faults()).toEqual([]);
});
