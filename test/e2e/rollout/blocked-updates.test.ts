import { expect, it } from 'vitest';
import { findFalseCondition, isConditionTrue } from '../../../src/api/conditions.ts';
import { AccessRequest } from '../../../src/api/openmcp/types.ts';
import { ProviderConfig } from '../../../src/api/provider-config.ts';
import type { KubeClient } from '../../../src/kube/client/client.ts';
import { consistently, eventually } from '../../support/eventually.ts';
import { KubeNode } from '../../support/fixtures/kube-node.ts';
import { Deployment, DisruptionBudget } from '../../support/fixtures/workload-kinds.ts';
import { ConfigMap, withAdminClient, withGrantedClient } from '../support/access/workload-cluster.ts';
import { WallClock } from '../support/provider-process/wall-clock.ts';
import { prepareTestbed, startTestbed } from '../support/testbed/testbed-hooks.ts';

/** Deadlines, and the times of drains and of tokens, are dates. */
const wallClock = new WallClock();
const open = startTestbed({ subnet: '127.42.233' });
const ref = { namespace: 'shop', name: 'web' };
const reader = { namespace: 'shop', name: 'reader' };
const app = { namespace: 'default', name: 'app' };

const machines = () => open().objects.machines(ref);
const clusterCondition = async () =>
  (await open().objects.getCluster(ref)).status?.conditions?.find(({ type }) => type === 'UpToDate');
const changePatches = (...patches: object[]) =>
  open().platform.merge(ProviderConfig, { name: 'home' }, { spec: { talos: { patches } } });
const proxy = (port: number) => ({ machine: { env: { http_proxy: `http://192.0.2.9:${port}` } } });
const boots = () =>
  open()
    .world.machines.nodes()
    .reduce((sum, node) => sum + node.boots, 0);
const cordoned = () =>
  withAdminClient(open(), ref, async (admin) =>
    (await admin.list(KubeNode)).items.filter(({ spec }) => spec?.unschedulable).map(({ metadata }) => metadata.name),
  );
const awaitUpToDate = (what: string) =>
  eventually(
    what,
    async () =>
      (await clusterCondition())?.status === 'True' &&
      (await machines()).every(({ status }) => isConditionTrue(status?.conditions, 'UpToDate')) &&
      (await cordoned()).length === 0,
    150,
  );
const areAllReady = () =>
  open()
    .world.machines.nodes()
    .every(({ ready }) => ready);
const startProvider = () => wallClock.within(() => open().provider.start());

/** Whether a configuration that is sent to a node holds the text. */
const holds = (content: unknown, text: string): boolean =>
  typeof content === 'object' &&
  content !== null &&
  'data' in content &&
  content.data instanceof Uint8Array &&
  Buffer.from(content.data).includes(text);

async function deployProtected(admin: KubeClient): Promise<void> {
  const selector = { matchLabels: { app: 'app' } };
  await admin.create(Deployment, {
    ...{ apiVersion: 'apps/v1', kind: 'Deployment', metadata: app },
    spec: {
      ...{ replicas: 2, selector },
      template: {
        metadata: { labels: selector.matchLabels },
        spec: { containers: [{ name: 'main', image: 'example.org/a' }] },
      },
    },
  });
  await admin.create(DisruptionBudget, {
    ...{ apiVersion: 'policy/v1', kind: 'PodDisruptionBudget', metadata: app },
    spec: { minAvailable: 2, selector },
  });
  await eventually('the Pods run', async () => (await admin.get(Deployment, app)).status?.readyReplicas === 2);
}

prepareTestbed(open, async ({ objects, provider }) => {
  await provider.stop();
  startProvider();
  await objects.credentials();
  await objects.config('home', { controlPlanes: 1, workers: 2 });
  await objects.cluster(ref);
  await awaitUpToDate('it is up to date');
  const rules = [{ apiGroups: [''], resources: ['configmaps'], verbs: ['list'] }];
  await objects.request(reader, { clusterRef: ref, token: { permissions: [{ rules }] } });
  await eventually('it is granted', async () => (await objects.getRequest(reader)).status?.phase === 'Granted');
});

it('D34: a configuration that Talos refuses is named, and disturbs no node', async () => {
  const before = boots();
  const stop = open().world.switchboard.judge((call, content) =>
    call.name.endsWith('/ApplyConfiguration') && holds(content, '192.0.2.66')
      ? { kind: 'error', code: 'InvalidArgument', body: 'the time server is not taken' }
      : undefined,
  );
  await changePatches({ machine: { time: { servers: ['192.0.2.66'] } } });
  const message =
    /^3 of 3 machines are not up to date\. web-\S+: Differs from its ProviderConfig in machine\.time\.servers\. .*the time server is not taken/;
  await eventually('it is refused', async () => {
    const found = await clusterCondition();
    return found?.status === 'False' && found.reason === 'ChangeRefused' && message.test(found.message);
  });
  await consistently(2, async () => {
    expect(await cordoned()).toEqual([]);
    expect((await open().objects.getCluster(ref)).status?.phase).toBe('Ready');
  });
  stop();
  await changePatches();
  await awaitUpToDate('it is taken back');
  expect(boots()).toBe(before);
});

it('a PodDisruptionBudget that never yields is named, before and after the time of a drain, and nothing goes on', async () => {
  const before = boots();
  await withAdminClient(open(), ref, deployProtected);
  await changePatches(proxy(3128));
  const isBlocked = async (reason: string) => {
    const found = (await machines()).find(
      ({ status }) => findFalseCondition(status?.conditions, 'UpToDate')?.reason === reason,
    );
    const { message = '' } = (await clusterCondition()) ?? {};
    return found && message.includes(found.metadata.name) && /disruption budget app .*default\/app-/.test(message);
  };
  await eventually('the drain is blocked', () => isBlocked('DrainBlocked'), 100);
  wallClock.set(1);
  await eventually('the time of the drain is over', () => isBlocked('DrainTimedOut'), 100);
  const [held] = await cordoned();
  await consistently(3, async () => {
    expect(await cordoned()).toEqual([held]);
    // Only the control plane has restarted.
    expect(boots()).toBe(before + 1);
  });
});

it('a provider that was away for a day goes on where it was: nothing restarts twice, and access still works', async () => {
  const before = boots();
  await withAdminClient(open(), ref, (admin) => admin.remove(DisruptionBudget, app));
  await eventually('a worker restarts', () => !areAllReady(), 100);
  await open().provider.stop();
  await eventually('it is back', areAllReady);
  // Certificates of clients are valid from a day before they are made.
  wallClock.set(23);
  startProvider();
  await awaitUpToDate('the update goes on');
  expect(boots()).toBe(before + 2);
  await withGrantedClient(open(), reader, async (holder) => await holder.list(ConfigMap));
  expect((await open().platform.get(AccessRequest, reader)).status?.phase).toBe('Granted');
});
