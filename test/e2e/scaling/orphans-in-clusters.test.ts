import { afterAll, expect, it } from 'vitest';
import { labels, machineName } from '../../../src/api/names.ts';
import { ProviderConfig } from '../../../src/api/provider-config.ts';
import type { KubeClient } from '../../../src/kube/client/client.ts';
import { Event } from '../../../src/kube/event-recorder.ts';
import { consistently, eventually } from '../../support/eventually.ts';
import { KubeNode } from '../../support/fixtures/kube-node.ts';
import { identityOnNas } from '../support/access/nas.ts';
import { etcdVoters, openAdminClient } from '../support/access/workload-cluster.ts';
import { prepareTestbed, startTestbed } from '../support/testbed/testbed-hooks.ts';

const open = startTestbed({ subnet: '127.42.238' });
const cluster = { namespace: 'shop', name: 'kept' };
const [first, lost, last] = [0, 1, 2].map((slot) => machineName(cluster, 'cp', slot)) as [string, string, string];
const [worker, lostWorker] = [0, 1].map((slot) => machineName(cluster, 'work', slot)) as [string, string];
/** A Node whose name and label are like ours, and that no provider made. */
const foreign = machineName(cluster, 'work', 7);
let admin: KubeClient;

const isReady = async () => (await open().objects.getCluster(cluster)).status?.phase === 'Ready';
const machines = async () => (await open().objects.machines(cluster)).map(({ metadata }) => metadata.name);
const nodes = async () => (await admin.list(KubeNode)).items.map(({ metadata }) => metadata.name).sort();
const isNodeReady = async (name: string) =>
  (await admin.find(KubeNode, { name }))?.status?.conditions?.find(({ type }) => type === 'Ready')?.status === 'True';
const eventsOf = async (reason: string) =>
  (await open().platform.list(Event, { namespace: cluster.namespace })).items
    .filter((event) => event.reason === reason && event.involvedObject.name === cluster.name)
    .map(({ message }) => message);
const callsOf = (name: string) => open().calls.filter((call) => call.name.endsWith(name));
const powerOff = async (name: string) =>
  await open().world.truenas.powerOff((await identityOnNas(open(), name)).vmName);

prepareTestbed(open, async (testbed) => {
  const { objects, platform, provider } = testbed;
  await objects.credentials();
  await objects.config('home', { controlPlanes: 3, workers: 2 });
  await objects.cluster(cluster);
  await eventually('the Cluster is ready', isReady, 150);
  admin = await openAdminClient(testbed, cluster);
  await admin.create(KubeNode, {
    ...{ apiVersion: 'v1', kind: 'Node' },
    metadata: { name: foreign, labels: { [labels.pool]: 'work' } },
  });
  await provider.stop();
  // The pools shrink at the same time, so that no successor takes over the names.
  const workerPools = [{ name: 'work', replicas: 1, size: 'small' }];
  await platform.merge(ProviderConfig, { name: 'home' }, { spec: { controlPlane: { replicas: 1 }, workerPools } });
  for (const name of [lost, lostWorker]) await objects.removeByForce(name);
  provider.start();
});

afterAll(async () => await admin?.close());

it('D36: the etcd member of a control plane that was deleted by force is removed, and no other', async () => {
  await eventually('the cluster has shrunk', async () => (await machines()).length === 2, 150);
  const [kept = ''] = (await machines()).filter((name) => name !== worker);
  expect([first, last]).toContain(kept);
  await eventually('one member is left', async () => {
    const voters = await etcdVoters(open(), cluster, kept);
    return [...voters.keys()].join() === kept;
  });
  const told = await eventually('it is told', async () => {
    const found = await eventsOf('OrphanMemberRemoved');
    return found.length > 0 && found;
  });
  expect(told).toEqual([
    expect.stringMatching(new RegExp(`^The member ${lost} \\([0-9a-f]{16}\\) of etcd at https://`)),
  ]);
  // The other surplus control plane has left by itself.
  expect(callsOf('MachineService/EtcdRemoveMemberByID')).toHaveLength(1);
  await eventually('the Cluster is ready', isReady, 60);
}, 300_000);

it('D37: the Node of a Machine that was deleted by force stays while it is Ready', async () => {
  await eventually('the worker is Ready', () => isNodeReady(lostWorker));
  await consistently(12, async () => expect(await nodes()).toContain(lostWorker));
});

it('D37: it is removed when its machine is off, and the Nodes of others stay', async () => {
  for (const name of [lost, lostWorker]) await powerOff(name);
  await eventually(
    'both are gone',
    async () => !(await nodes()).some((name) => [lost, lostWorker].includes(name)),
    100,
  );
  const left = await machines();
  expect(await nodes()).toEqual([...left, foreign].sort());
  await eventually('it is told', async () => (await eventsOf('OrphanNodeRemoved')).length === 2);
  expect(open().faults()).toEqual([]);
});

it('D36, D37: a cluster without orphans is not asked', async () => {
  await eventually('the Cluster is ready', isReady);
  const lists = () => callsOf('MachineService/EtcdMemberList').length;
  const before = lists();
  await consistently(10, () => expect(lists()).toBe(before));
});
