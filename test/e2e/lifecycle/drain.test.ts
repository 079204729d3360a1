import { expect, it, onTestFinished } from 'vitest';
import { Machine } from '../../../src/api/machine.ts';
import { annotations, machineName } from '../../../src/api/names.ts';
import { Cluster } from '../../../src/api/openmcp/types.ts';
import type { KubeClient } from '../../../src/kube/client/client.ts';
import { Namespace } from '../../../src/kube/core-types.ts';
import { Event } from '../../../src/kube/event-recorder.ts';
import type { KubeObject, ResourceType } from '../../../src/kube/resource.ts';
import { missingPeers } from '../../peers/find-peer.ts';
import { consistently, eventually } from '../../support/eventually.ts';
import { KubeNode } from '../../support/fixtures/kube-node.ts';
import { DaemonSet, Deployment, DisruptionBudget, type Workload } from '../../support/fixtures/workload-kinds.ts';
import { openKubectlRunner } from '../support/access/kubectl.ts';
import { callNas, identityOnNas } from '../support/access/nas.ts';
import { adminKubeconfig, openAdminClient } from '../support/access/workload-cluster.ts';
import { prepareTestbed, startTestbed } from '../support/testbed/testbed-hooks.ts';

interface Pod extends KubeObject {
  spec: { nodeName?: string };
}
const Pod: ResourceType<Pod> = { group: '', version: 'v1', kind: 'Pod', plural: 'pods', namespaced: true };

const open = startTestbed({ subnet: '127.42.181' });
const ref = { namespace: 'shop', name: 'web' };
const workers = [0, 1, 2].map((slot) => machineName(ref, 'work', slot)) as [string, string, string];
let admin: KubeClient;

const find = (name: string) => open().platform.find(Machine, { name });
const isReady = async () => (await open().objects.getCluster(ref)).status?.phase === 'Ready';
const app = { namespace: 'default', name: 'app' };
const metadataOf = { ...app };
const workload = (kind: string, name: string, spec: object): Workload => ({
  ...{ apiVersion: 'apps/v1', kind, metadata: { ...metadataOf, name } },
  spec: {
    selector: { matchLabels: { app: name } },
    template: { metadata: { labels: { app: name } }, spec: { containers: [{ name: 'main', image: 'example.org/a' }] } },
    ...spec,
  },
});
const readyReplicas = async () => (await admin.get(Deployment, app)).status?.readyReplicas ?? 0;
const setMinimum = (minAvailable: number) =>
  admin.apply(
    DisruptionBudget,
    { metadata: app, spec: { minAvailable, selector: { matchLabels: { app: 'app' } } } },
    { force: true },
  );
/** The Pods of the Deployment by their node. */
async function podsOn(node: string): Promise<string[]> {
  const { items } = await admin.list(Pod, { namespace: 'default', labelSelector: 'app=app' });
  return items.filter(({ spec }) => spec.nodeName === node).map(({ metadata }) => metadata.name);
}
const stateOf = async (name: string) => {
  const machine = await find(name);
  return machine?.status?.conditions.find(({ type }) => type === 'Provisioned');
};
const isReplaced = async (name: string, uid: string | undefined) => {
  const machine = await find(name);
  return machine !== undefined && machine.metadata.uid !== uid && machine.status?.phase === 'Ready';
};

prepareTestbed(open, async ({ objects }) => {
  await objects.credentials();
  await objects.config('home', { workers: 3 });
  await objects.cluster(ref);
  await eventually('the cluster is ready', isReady, 150);
  admin = await openAdminClient(open(), ref);
  await admin.find(Namespace, { name: 'default' });
  await admin.create(Deployment, workload('Deployment', 'app', { replicas: 3 }));
  await admin.create(DaemonSet, workload('DaemonSet', 'agent', {}));
  await setMinimum(2);
  await eventually('the Pods run', async () => (await readyReplicas()) === 3);
  await eventually('one on each worker', async () => {
    const counts = await Promise.all(workers.map(async (node) => (await podsOn(node)).length));
    return counts.every((count) => count === 1);
  });
});

it('kubectl drains a node like a real one', async ({ skip }) => {
  const missing = missingPeers('kubectl');
  if (missing) skip(missing);
  const kubectl = await openKubectlRunner((await adminKubeconfig(open(), ref)).reveal());
  onTestFinished(() => kubectl.close());
  const [name] = workers;
  const drain = (node: string, ...more: string[]) => kubectl.run(['drain', node, '--timeout=25s', ...more]);
  const refused = await drain(name);
  expect(refused.code).toBe(1);
  expect(refused.error).toContain('cannot delete DaemonSet-managed Pods');
  const drained = await drain(name, '--ignore-daemonsets');
  expect(drained, JSON.stringify(drained)).toMatchObject({ code: 0 });
  expect(drained.out).toMatch(/^pod\/app-\S+ evicted$/m);
  expect(drained.out).toMatch(/^node\/\S+ drained$/m);
  expect(await podsOn(name)).toEqual([]);
  const { items } = await admin.list(Pod, { namespace: 'default', fieldSelector: `spec.nodeName=${name}` });
  expect(items.map(({ metadata }) => metadata.labels?.['app'])).toEqual(['agent']);
  const controlPlane = machineName(ref, 'cp', 0);
  expect(await drain(controlPlane, '--ignore-daemonsets')).toMatchObject({ code: 0 });
  for (const node of [name, controlPlane]) await kubectl.says(['uncordon', node]);
  await eventually('all Pods run', async () => (await readyReplicas()) === 3);
});

it('D1, D3, D10: a worker that is deleted is drained first, and its Node is deleted after it is gone', async () => {
  const [name] = workers;
  const before = await find(name);
  const node = await admin.get(KubeNode, { name });
  let fewest = 3;
  let wasCordoned = false;
  await open().objects.remove(Machine, { name });
  await eventually(
    'it is replaced',
    async () => {
      fewest = Math.min(fewest, await readyReplicas());
      const now = await admin.find(KubeNode, { name });
      if (now?.metadata.uid === node.metadata.uid && now?.spec?.unschedulable) wasCordoned = true;
      return await isReplaced(name, before?.metadata.uid);
    },
    120,
  );
  expect(wasCordoned).toBe(true);
  expect(fewest).toBeGreaterThanOrEqual(2);
  const successor = await admin.get(KubeNode, { name });
  expect(successor.metadata.uid).not.toBe(node.metadata.uid);
  expect(successor.spec?.unschedulable ?? false).toBe(false);
  await eventually('all Pods run again', async () => (await readyReplicas()) === 3);
});

it('D4: a budget that never yields is named in the status, and stops nothing else, until it is approved', async () => {
  const { objects, platform } = open();
  await setMinimum(3);
  const counts = await Promise.all(workers.map(async (node) => ({ node, pods: await podsOn(node) })));
  const held = counts.find(({ pods }) => pods.length > 0);
  const free = counts.find(({ pods }) => pods.length === 0);
  expect(
    [held, free].every((one) => one !== undefined),
    JSON.stringify(counts),
  ).toBe(true);
  const [blocked, other] = [held?.node ?? '', free?.node ?? ''];
  const [first, second] = [await find(blocked), await find(other)];
  await objects.remove(Machine, { name: blocked });
  await eventually('the status names it', async () => {
    const condition = await stateOf(blocked);
    expect(condition).toMatchObject({ status: 'False', reason: 'DrainBlocked' });
    expect(condition?.message).toContain('The disruption budget app needs 3 healthy pods and has 3 currently');
    expect(condition?.message).toContain(`default/${held?.pods[0]}`);
    return condition?.message.includes(`${annotations.approve}: DrainBlocked`);
  });
  await objects.remove(Machine, { name: other });
  await eventually('the other one is replaced', () => isReplaced(other, second?.metadata.uid), 120);
  await consistently(1, async () => {
    expect((await find(blocked))?.metadata.uid).toBe(first?.metadata.uid);
    expect(await podsOn(blocked)).toEqual(held?.pods);
    expect(
      (await platform.get(Cluster, ref)).status?.conditions?.find(({ type }) => type === 'EndpointReachable'),
    ).toMatchObject({ status: 'True' });
  });
  await objects.annotate(Machine, { name: blocked }, { [annotations.approve]: 'DrainBlocked' });
  await eventually('it is replaced as approved', () => isReplaced(blocked, first?.metadata.uid), 120);
  const { items } = await platform.list(Event, {});
  expect(items.some(({ reason, message }) => reason === 'TakenDownAsAgreed' && message.includes('DrainBlocked'))).toBe(
    true,
  );
  await setMinimum(2);
  await eventually('all Pods run again', async () => (await readyReplicas()) === 3);
});

it('D8: the Pods of a node that is switched off are not waited for', async () => {
  const testbed = open();
  // Two of its three Pods on this node would be held by their budget, which no longer has the Pods that it needs.
  const counts = await Promise.all(workers.map(async (node) => ({ node, pods: await podsOn(node) })));
  const name = counts.find(({ pods }) => pods.length === 1)?.node ?? workers[0];
  const { uid } = (await find(name))?.metadata ?? {};
  await testbed.objects.annotate(Machine, { name }, { [annotations.maintenance]: 'true' });
  const { vmName } = await identityOnNas(testbed, name);
  const [{ id } = { id: 0 }] = (await callNas(testbed, 'vm.query', [[['name', '=', vmName]]])) as { id: number }[];
  await callNas(testbed, 'vm.poweroff', [id]);
  await eventually('its Node is Unknown', async () => {
    const { status } = await admin.get(KubeNode, { name });
    return status?.conditions?.some((one) => one.type === 'Ready' && one.status === 'Unknown');
  });
  await testbed.objects.remove(Machine, { name });
  await eventually('it is replaced', () => isReplaced(name, uid), 120);
  await eventually('all Pods run again', async () => (await readyReplicas()) === 3);
});

it('D12: the cordon of somebody else stays, and a Cluster in deletion is not drained', async () => {
  const [, name] = workers;
  await admin.merge(KubeNode, { name }, { spec: { unschedulable: true } });
  await consistently(1, async () => {
    const { spec, metadata } = await admin.get(KubeNode, { name });
    expect(spec?.unschedulable).toBe(true);
    expect(Object.keys(metadata.annotations ?? {}).filter((key) => key.includes('cordon'))).toEqual([]);
  });
  await setMinimum(3);
  await admin.close();
  await open().objects.remove(Cluster, ref);
  await eventually('nothing is left', async () => (await open().objects.machines(ref)).length === 0, 120);
});
