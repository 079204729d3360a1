import { expect, it } from 'vitest';
import { Machine } from '../../../src/api/machine.ts';
import { annotations, machineName } from '../../../src/api/names.ts';
import { Cluster } from '../../../src/api/openmcp/types.ts';
import { Namespace } from '../../../src/kube/core-types.ts';
import { consistently, eventually } from '../../support/eventually.ts';
import { callNas, identityOnNas } from '../support/access/nas.ts';
import { etcdVoters, withAdminClient } from '../support/access/workload-cluster.ts';
import { prepareTestbed, startTestbed } from '../support/testbed/testbed-hooks.ts';

const open = startTestbed({ subnet: '127.42.34' });
const [three, one] = [
  { namespace: 'shop', name: 'three' },
  { namespace: 'shop', name: 'one' },
];
const [first, second, third] = [0, 1, 2].map((slot) => machineName(three, 'cp', slot)) as [string, string, string];

const find = (name: string) => open().platform.find(Machine, { name });
const isReady = async (ref: typeof three) => (await open().objects.getCluster(ref)).status?.phase === 'Ready';

const voters = (asked: string) => etcdVoters(open(), three, asked);

prepareTestbed(open, async ({ objects }) => {
  await objects.credentials();
  await objects.config('home', { controlPlanes: 3, pool: [10, 49] });
  await objects.config('small', { pool: [50, 99] });
  await objects.cluster(three);
  await objects.cluster(one, { config: 'small' });
  for (const ref of [three, one]) await eventually(`${ref.name} is ready`, () => isReady(ref), 150);
  await eventually('all of them vote', async () => (await voters(first)).size === 3);
});

it('a control plane that is deleted alone leaves etcd first, and its successor joins as a new member', async () => {
  const before = await voters(first);
  const { uid } = (await find(second))?.metadata ?? {};
  await open().objects.remove(Machine, { name: second });
  await eventually('it has left, and nothing else has', async () => {
    const now = await voters(first);
    return now.size === 2 && now.get(third) === before.get(third);
  });
  await eventually(
    'there is another',
    async () => {
      const now = await find(second);
      return now && now.metadata.uid !== uid;
    },
    60,
  );
  await eventually('it votes', async () => (await voters(first)).size === 3, 100);
  const after = await voters(first);
  expect(after.get(second)).not.toBe(before.get(second));
  expect([after.get(first), after.get(third)]).toEqual([before.get(first), before.get(third)]);
  await eventually('the cluster is whole', () => isReady(three), 60);
});

it('another control plane removes a silent one from etcd', async () => {
  const testbed = open();
  const before = await voters(first);
  await testbed.objects.annotate(Machine, { name: third }, { [annotations.maintenance]: 'true' });
  const { vmName } = await identityOnNas(testbed, third);
  const [{ id } = { id: 0 }] = (await callNas(testbed, 'vm.query', [[['name', '=', vmName]]])) as { id: number }[];
  await callNas(testbed, 'vm.poweroff', [id]);
  await testbed.objects.remove(Machine, { name: third });
  await eventually('it is no member any more', async () => (await voters(first)).get(third) !== before.get(third));
  await eventually('its successor votes', async () => (await voters(first)).size === 3, 100);
  expect((await voters(first)).get(second)).toBe(before.get(second));
  expect(testbed.calls.some(({ name }) => name.endsWith('/EtcdRemoveMemberByID'))).toBe(true);
});

it('the only one is not deleted without approval', async () => {
  const { objects } = open();
  const name = machineName(one, 'cp', 0);
  const { uid } = (await find(name))?.metadata ?? {};
  await eventually(
    'it is marked',
    async () => (await find(name))?.metadata.annotations?.[annotations.onlyControlPlane],
  );
  await expect(objects.remove(Machine, { name })).rejects.toThrow(
    /the only control plane of its cluster.*delete the Cluster/,
  );
  await consistently(1, async () => expect((await find(name))?.metadata.deletionTimestamp).toBeUndefined());
  expect(await withAdminClient(open(), one, (admin) => admin.find(Namespace, { name: 'kube-system' }))).toBeDefined();
  await objects.annotate(Machine, { name }, { [annotations.approve]: 'LastControlPlane' });
  await consistently(1, async () =>
    expect((await find(name))?.metadata.annotations).toMatchObject({ [annotations.approve]: 'LastControlPlane' }),
  );
  await objects.remove(Machine, { name });
  await eventually('it is gone', async () => (await find(name))?.metadata.uid !== uid, 60);
});

it('the last of several that are deleted at once stays, and the others are created again', async () => {
  const { objects } = open();
  await objects.remove(Machine, { name: first });
  await objects.remove(Machine, { name: second });
  await eventually('the third is marked', async () => {
    return (await find(third))?.metadata.annotations?.[annotations.onlyControlPlane] === 'true';
  });
  await expect(objects.remove(Machine, { name: third })).rejects.toThrow(/the only control plane/);
  await eventually('all of them vote again', async () => (await voters(third)).size === 3, 150);
  await eventually('none is marked', async () => {
    const machines = await objects.machines(three);
    return machines.every(({ metadata }) => metadata.annotations?.[annotations.onlyControlPlane] === undefined);
  });
  await eventually('the cluster is whole', () => isReady(three), 60);
});

it('deletion of the Cluster deletes all of them, whatever happens to etcd', async () => {
  const { objects } = open();
  for (const ref of [three, one]) await objects.remove(Cluster, ref);
  for (const ref of [three, one])
    await eventually(`${ref.name} is gone`, async () => !(await objects.exists(Cluster, ref)), 60);
  expect(await objects.machines()).toEqual([]);
});
