import { expect, it } from 'vitest';
import { machineName } from '../../../src/api/names.ts';
import { ProviderConfig } from '../../../src/api/provider-config.ts';
import { Node } from '../../../src/kube/drain/kinds.ts';
import { Event } from '../../../src/kube/event-recorder.ts';
import { eventually } from '../../support/eventually.ts';
import { callNas } from '../support/access/nas.ts';
import { withAdminClient, withTalosAdminClient } from '../support/access/workload-cluster.ts';
import { prepareTestbed, startTestbed } from '../support/testbed/testbed-hooks.ts';

const open = startTestbed({ subnet: '127.42.237' });
const cluster = { namespace: 'shop', name: 'left' };
const nameOf = (pool: string, slot: number) => machineName(cluster, pool, slot);
/** Their Machines are deleted by force while nobody watches, and they are not wanted any more. */
const [plane, worker] = [nameOf('cp', 2), nameOf('work', 1)];
/** Not of ours: one of a user, and one that no machine has registered. */
const foreign = ['box-1', nameOf('work', 7)];

const machines = () => open().objects.machines(cluster);
const nodes = () =>
  withAdminClient(open(), cluster, async (admin) =>
    (await admin.list(Node)).items.map(({ metadata }) => metadata.name),
  );
const members = async () => {
  const address = (await machines()).find(({ spec }) => spec.role === 'controlplane')?.status?.address ?? '';
  return await withTalosAdminClient(open(), cluster, address, (node) => node.etcdMembers());
};
const eventsOf = async (reason: string) =>
  (await open().platform.list(Event, { namespace: cluster.namespace })).items
    .filter((event) => event.reason === reason)
    .map(({ message }) => message);

async function deleteByForce(name: string): Promise<void> {
  const vms = (await callNas(open(), 'vm.query', [])) as { id: number; name: string }[];
  const vm = vms.find((one) => one.name.startsWith(name.replaceAll('-', '_')));
  await callNas(open(), 'vm.poweroff', [vm?.id]);
  await open().objects.removeByForce(name);
}

prepareTestbed(open, async (testbed) => {
  const { objects, provider } = testbed;
  await objects.credentials();
  await objects.config('home', { controlPlanes: 3, workers: 2 });
  await objects.cluster(cluster);
  const isReady = async () => (await objects.getCluster(cluster)).status?.phase === 'Ready';
  await eventually('the Cluster is ready', isReady, 200);
  for (const name of foreign)
    await withAdminClient(testbed, cluster, (admin) =>
      admin.create(Node, { apiVersion: 'v1', kind: 'Node', metadata: { name } }),
    );
  await provider.stop();
  const change = { controlPlane: { replicas: 1 }, workerPools: [{ name: 'work', replicas: 1, size: 'small' }] };
  await testbed.platform.merge(ProviderConfig, { name: 'home' }, { spec: change as object });
  for (const name of [plane, worker]) await deleteByForce(name);
  expect(await nodes()).toEqual(expect.arrayContaining([plane, worker]));
  provider.start();
});

it('D36: a member of etcd without a Machine is removed, and the others shrink as they should', async () => {
  await eventually('the orphan has left', async () => !(await members()).some(({ name }) => name === plane), 150);
  const isSmall = async () => (await machines()).length === 2 && (await members()).length === 1;
  await eventually('one control plane and one worker are left', isSmall, 150);
  expect(await eventsOf('OrphanMemberRemoved')).toEqual([
    `The member ${plane} of etcd, which belonged to no Machine, was removed.`,
  ]);
});

it('D37: Nodes without a Machine are deleted, and none of others', async () => {
  const left = [...foreign, ...(await machines()).map(({ metadata }) => metadata.name)].sort();
  await eventually('they are gone', async () => (await nodes()).sort().join() === left.join(), 150);
  expect(new Set(await eventsOf('OrphanNodeRemoved'))).toEqual(
    new Set([plane, worker].map((name) => `The Node ${name}, whose Machine no longer exists, was deleted.`)),
  );
  expect(open().faults()).toEqual([]);
});
