import { expect, it } from 'vitest';
import { findFalseCondition, isConditionTrue } from '../../../src/api/conditions.ts';
import type { Machine } from '../../../src/api/machine.ts';
import { annotations } from '../../../src/api/names.ts';
import { ProviderConfig } from '../../../src/api/provider-config.ts';
import { Event } from '../../../src/kube/event-recorder.ts';
import { eventually } from '../../support/eventually.ts';
import { KubeNode } from '../../support/fixtures/kube-node.ts';
import { Deployment } from '../../support/fixtures/workload-kinds.ts';
import { withAdminClient } from '../support/access/workload-cluster.ts';
import { prepareTestbed, startTestbed } from '../support/testbed/testbed-hooks.ts';

const open = startTestbed({ subnet: '127.42.169' });
const first = { namespace: 'shop', name: 'first' };
const second = { namespace: 'shop', name: 'second' };
const both = [first, second];

const machines = (ref: typeof first) => open().objects.machines(ref);
const isUpToDate = ({ status }: Pick<Machine, 'status'>) => isConditionTrue(status?.conditions, 'UpToDate');
const conditionOf = async (ref: typeof first) =>
  (await open().objects.getCluster(ref)).status?.conditions?.find(({ type }) => type === 'UpToDate');
const changeConfig = (spec: object) => open().platform.merge(ProviderConfig, { name: 'home' }, { spec });
const pool = (more: object) => ({ workerPools: [{ name: 'work', replicas: 2, size: 'small', ...more }] });

/** The Machines whose configuration was changed, in the order of the changes. */
async function listUpdated(): Promise<string[]> {
  const { items } = await open().platform.list(Event, {});
  const updates = items.filter(({ reason }) => reason === 'Updated');
  return updates
    .sort((a, b) => Number(a.metadata.resourceVersion) - Number(b.metadata.resourceVersion))
    .map(({ involvedObject }) => String(involvedObject.name));
}

const nodeLabels = async (ref: typeof first, key: string) =>
  await withAdminClient(open(), ref, async (admin) =>
    (await admin.list(KubeNode)).items.flatMap(({ metadata }) => metadata.labels?.[key] ?? []),
  );

prepareTestbed(open, async ({ objects }) => {
  await objects.credentials();
  await objects.config('home', { controlPlanes: 3, workers: 2 });
  for (const ref of both) await objects.cluster(ref);
  for (const ref of both)
    await eventually(`${ref.name} is up to date`, async () => (await conditionOf(ref))?.status === 'True', 150);
});

it('a changed label reaches the nodes of every cluster, one Machine of one cluster at a time', async () => {
  let most = 0;
  await changeConfig(pool({ labels: { 'example.org/disk': 'fast' } }));
  await eventually(
    'every Machine has it',
    async () => {
      const all = (await Promise.all(both.map(machines))).flat();
      const updating = all.filter(({ status }) => status?.progress?.plan === 'update');
      most = Math.max(most, updating.length);
      expect(all.every(({ status }) => isConditionTrue(status?.conditions, 'Ready'))).toBe(true);
      return all.every(isUpToDate) && (await listUpdated()).length === 4;
    },
    100,
  );
  expect(most).toBeLessThanOrEqual(1);
  for (const ref of both)
    await eventually('the nodes show it', async () => {
      const found = await nodeLabels(ref, 'example.org/disk');
      return found.join() === 'fast,fast';
    });
  const names = (await listUpdated()).map((name) => name.split('-')[0]);
  expect(names).toEqual([names[0], names[0], names[2], names[2]]);
  expect(names[0]).not.toBe(names[2]);
});

it('control planes come before workers', async () => {
  const before = (await listUpdated()).length;
  await changeConfig({ network: { timeServers: ['192.0.2.123'] } });
  await eventually('all are changed', async () => (await listUpdated()).length === before + 10, 150);
  const roles = (await listUpdated()).slice(before).map((name) => (name.includes('-cp-') ? 'cp' : 'work'));
  expect(roles.slice(0, 5)).toEqual(['cp', 'cp', 'cp', 'work', 'work']);
  for (const ref of both)
    await eventually('the Cluster is up to date', async () => (await conditionOf(ref))?.status === 'True');
});

it('D29: a workload that has to be available holds up the next change, and is named', async () => {
  const check = { kind: 'Deployment', namespace: 'default', name: 'shop' };
  await changeConfig({ ...pool({ labels: { 'example.org/disk': 'slow' } }), rollout: { healthChecks: [check] } });
  const disks = async () => (await Promise.all(both.map((ref) => nodeLabels(ref, 'example.org/disk')))).flat().join();
  // One of them is the canary, and the other waits for it.
  await eventually('the canary says so', async () => {
    const messages = (await Promise.all(both.map(conditionOf))).map((one) => one?.message ?? '');
    return messages.some((text) => text.includes('Deployment default/shop of spec.rollout.healthChecks'));
  });
  expect(await disks()).toBe('fast,fast,fast,fast');
  const containers = [{ name: 'main', image: 'example.org/shop' }];
  const labels = { app: 'shop' };
  for (const ref of both)
    await withAdminClient(open(), ref, (admin) =>
      admin.create(Deployment, {
        ...{ apiVersion: 'apps/v1', kind: 'Deployment', metadata: { namespace: 'default', name: 'shop' } },
        spec: {
          replicas: 1,
          selector: { matchLabels: labels },
          template: { metadata: { labels }, spec: { containers } },
        },
      }),
    );
  await eventually('all are changed', async () => (await disks()) === 'slow,slow,slow,slow', 100);
  // The nodes show the label before the last update has ended.
  for (const ref of both)
    await eventually('the Cluster is up to date', async () => (await conditionOf(ref))?.status === 'True');
  await changeConfig({ rollout: { healthChecks: [] } });
});

it('what needs another machine is reported, and no node is changed before its turn', async () => {
  const before = (await listUpdated()).length;
  await open().objects.annotate(ProviderConfig, { name: 'home' }, { [annotations.rollout]: 'pause' });
  await changeConfig(pool({ taints: [{ key: 'gpu', value: 'yes', effect: 'NoSchedule' }] }));
  const state = await eventually('the Cluster says so', async () => {
    const condition = await conditionOf(first);
    return condition?.message.startsWith('2 of 5') && condition;
  });
  expect(state).toMatchObject({ reason: 'RolloutPaused' });
  const worker = (await machines(first)).find(({ spec }) => spec.role === 'worker');
  expect(findFalseCondition(worker?.status?.conditions, 'UpToDate')).toMatchObject({
    reason: 'ReplacementRequired',
    message: expect.stringMatching(/registerWithTaints.*\. The change needs another machine/),
  });
  expect((await open().objects.getCluster(first)).status?.phase).toBe('Ready');
  expect((await listUpdated()).length).toBe(before);
  await changeConfig(pool({ taints: [] }));
  await open().objects.annotate(ProviderConfig, { name: 'home' }, { [annotations.rollout]: null });
  for (const ref of both)
    await eventually('nothing differs again', async () => (await conditionOf(ref))?.status === 'True');
  expect((await listUpdated()).length).toBe(before);
});

it('an earlier minor of Talos is refused, with the remedy', async () => {
  const before = (await listUpdated()).length;
  await changeConfig({ talos: { version: '1.12.11' } });
  const state = await eventually('the Machine says so', async () => {
    const machine = (await machines(first))[0];
    const found = findFalseCondition(machine?.status?.conditions, 'UpToDate');
    return found?.reason === 'ChangeRefused' && found;
  });
  expect(state.message).toBe(
    'Runs Talos 1.13.9 and is to run 1.12.11. The node runs Talos 1.13.9, which cannot be downgraded to 1.12.11. Set talos.version to a release of 1.13.',
  );
  await changeConfig({ talos: { version: '1.13.9' } });
  for (const ref of both)
    await eventually('nothing differs again', async () => (await conditionOf(ref))?.status === 'True');
  expect((await listUpdated()).length).toBe(before);
});
